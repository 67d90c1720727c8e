package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// Readings are taken every readEvery, and sadc is looked at every pollEvery: what lies
// between the readings before and after one of sadc's is what may differ.
const (
	readEvery = 20 * time.Millisecond
	pollEvery = 2 * time.Millisecond
)

// reading is one reading of all sources.
type reading struct {
	begin, end time.Duration // CLOCK_BOOTTIME
	blocks     map[*schemas.Table]schemas.Block
}

// bracket holds one reading of sadc's between two of ours: before ended while sadc was
// asleep, after began when it slept again with its record written.
type bracket struct{ before, after *reading }

// reader reads all sources.
type reader struct {
	sources []collector.Source
	blocks  [][]schemas.Block // by source, reused
}

func newReader(sources []collector.Source) *reader {
	r := &reader{sources: sources, blocks: make([][]schemas.Block, len(sources))}
	for i, s := range sources {
		for _, t := range s.Tables() {
			r.blocks[i] = append(r.blocks[i], schemas.Block{Table: t})
		}
	}
	return r
}

// read takes a reading. A source that fails has no block in it.
func (r *reader) read() *reading {
	x := &reading{begin: uptime(), blocks: map[*schemas.Table]schemas.Block{}}
	for i, s := range r.sources {
		if s.Sample(r.blocks[i]) != nil {
			continue
		}
		for _, b := range r.blocks[i] {
			b.Values, b.Known = slices.Clone(b.Values), slices.Clone(b.Known)
			x.blocks[b.Table] = b
		}
	}
	x.end = uptime()
	return x
}

func uptime() time.Duration {
	_, boot := collector.Now()
	return time.Duration(boot)
}

// watch starts sadc, which writes to path, and reads beside it until it ends or ctx
// does.
func watch(ctx context.Context, sadc *exec.Cmd, path string, r *reader) ([]bracket, error) {
	var stderr bytes.Buffer
	sadc.Stderr = &stderr
	last := r.read()
	safe := last // ended before sadc began to read
	if err := sadc.Start(); err != nil {
		return nil, fmt.Errorf("sadc: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- sadc.Wait() }()
	var out []bracket
	var size int64
	for t := time.NewTicker(pollEvery); ; {
		var err error
		over := false
		select {
		case err = <-ended:
			over = true
		case <-ctx.Done():
			sadc.Process.Kill() // its wait tells
			<-ended
			return out, ctx.Err()
		case <-t.C:
		}
		// The state first: what sadc read before it fell asleep is in the size after.
		asleep := over || sleeps(sadc.Process.Pid)
		now := sizeOf(path)
		switch {
		case asleep && now == size:
			safe = last
		case asleep:
			last = r.read()
			out = append(out, bracket{safe, last})
			size, safe = now, last
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("sadc: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
		case over:
			t.Stop()
			return out, nil
		case uptime()-last.begin >= readEvery:
			last = r.read()
		}
	}
}

// sleeps reports whether a process waits for a signal or an event (state S of
// proc_pid_stat(5)). Waiting for the disk or for a lock is another state.
func sleeps(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := bytes.LastIndexByte(text, ')') // of the command's name, which may have any character
	return err == nil && i >= 0 && bytes.HasPrefix(text[i:], []byte(") S"))
}

func sizeOf(path string) int64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0 // not yet there
	}
	return fi.Size()
}
