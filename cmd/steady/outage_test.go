package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/loaders"
	"github.com/steadybench/steady/schemas"
)

// outage returns how long the server is away: seconds, or as long as STEADY_OUTAGE says.
func outage(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("STEADY_OUTAGE")
	if text == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("STEADY_OUTAGE: %v", err)
	}
	return d
}

// elapse waits for an outage to be over, and fails if the process ends meanwhile.
func elapse(t *testing.T, d time.Duration, p *process) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-p.done:
		t.Fatal(p.name + ": has ended")
	}
}

// caughtUp waits until so many messages came at once, and then no more than one ticks.
func caughtUp(t *testing.T, c *bus.Conn, more uint64) {
	t.Helper()
	began, before := time.Now(), streamed(c)
	look := time.NewTicker(500 * time.Millisecond) // some five ticks
	defer look.Stop()
	for last := before; ; {
		<-look.C
		now := streamed(c)
		if now >= before+more/2 && now-last < 20 {
			return
		}
		if last = now; time.Since(began) > patience+outage(t)/5 {
			t.Fatalf("%d messages came, wanted %d", now-before, more)
		}
	}
}

// walBytes returns the size of a log.
func walBytes(t *testing.T, dir string) (sum int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.wal1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil {
			sum += st.Size()
		}
	}
	return sum
}

// whole checks that each tick of each producer of the only run is there once, and
// returns its manifest.
func whole(t *testing.T, data string) *schemas.Manifest {
	t.Helper()
	m := one(t, data)
	if m.Status != schemas.Complete {
		t.Errorf("%s: %q", m.Status, m.Reasons)
	}
	ticks := int64(0)
	for _, p := range m.Producers {
		if p.Expected == nil || p.Received != *p.Expected || len(p.Missing) > 0 || len(p.Refused) > 0 {
			t.Errorf("%+v", p)
		}
		ticks += p.Received
	}
	r, err := loaders.Find(data, "e/s/c/1")
	if err != nil {
		t.Fatal(err)
	}
	x, err := r.Table(&schemas.Memory)
	if err != nil {
		t.Fatal(err)
	}
	f := read(t, x)
	if int64(f.Rows()) != ticks {
		t.Errorf("%d rows of %d ticks", f.Rows(), ticks)
	}
	seen := map[string]bool{}
	for i := range f.Rows() {
		seen[fmt.Sprint(f.Column("epoch").Ints[i], f.Column("seq").Ints[i])] = true
	}
	if len(seen) != f.Rows() {
		t.Errorf("%d rows are of %d ticks", f.Rows(), len(seen))
	}
	return m
}

// The server is killed, or stopped so that it takes what is sent and says nothing: the
// collector goes on, its memory does not grow, and nothing is missing afterwards.
func TestCollectorOutlivesALongOutage(t *testing.T) {
	for _, how := range []string{"killed", "stopped"} {
		t.Run(how, func(t *testing.T) {
			data, dir, port, wal := t.TempDir(), t.TempDir(), freePort(t), t.TempDir()
			url := "nats://127.0.0.1:" + port
			server := natsServer(t, nil, dir, "127.0.0.1", port)
			in := startSteady(t, nil, "ingest", "--data", data, "--nats", url)
			in.says(t, "ingest: "+url)
			col := startSteady(t, nil, "collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", "100ms", "--host", "h", "--wal", wal)
			c := connect(t, url)
			await(t, "ticks in the stream", func() bool { return streamed(c) > 10 })
			if how == "killed" {
				server.signal(t, syscall.SIGKILL)
				col.says(t, "will try again until it works")
			} else {
				server.cmd.Process.Signal(syscall.SIGSTOP)
			}
			elapse(t, outage(t)/3, col)
			early := rssKiB(col.cmd.Process.Pid)
			elapse(t, outage(t)*2/3, col)
			grown, size := rssKiB(col.cmd.Process.Pid)-early, walBytes(t, wal)
			if how == "killed" {
				natsServer(t, nil, dir, "127.0.0.1", port)
			} else {
				server.cmd.Process.Signal(syscall.SIGCONT)
			}
			caughtUp(t, connect(t, url), uint64(outage(t)/(100*time.Millisecond))*8/10)
			col.signal(t, syscall.SIGINT)
			if code := col.cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("collect: exit %d", code)
			}
			in.says(t, "complete")
			in.signal(t, syscall.SIGTERM)
			m := whole(t, data)
			p := m.Producers[0]
			if want := int64(outage(t) / (100 * time.Millisecond)); p.Received+p.Missed < want || len(m.Producers) != 1 {
				t.Errorf("%d ticks and %d missed in an outage of %d", p.Received, p.Missed, want)
			}
			if grown > 4<<10 {
				t.Errorf("resident memory grew by %d KiB", grown)
			}
			if left := walBytes(t, wal); left > 0 {
				t.Errorf("%d bytes left in the log", left)
			}
			t.Logf("away for %s: %d ticks, %d missed, %d doubled; resident memory grew by %d KiB, the log to %d bytes", outage(t), p.Received, p.Missed, p.Duplicates, grown, size)
		})
	}
}

// Collectors are killed one after the other while the server is away; the last one ends
// well, and the run has all that they wrote, and names what is not there.
func TestCollectorKilledTwentyTimesInAnOutage(t *testing.T) {
	const kills = 20
	// As many ticks as make a run folder within the test's patience.
	interval := max(20*time.Millisecond, (outage(t) / 2000).Round(time.Millisecond))
	data, dir, port, wal := t.TempDir(), t.TempDir(), freePort(t), t.TempDir()
	url := "nats://127.0.0.1:" + port
	args := []string{"collect", "--nats", url, "--experiment", "e", "--system", "s", "--scenario", "c", "--interval", interval.String(), "--host", "h", "--wal", wal}
	r := rand.New(rand.NewPCG(20, 26))
	began := time.Now()
	for range kills {
		col := startSteady(t, nil, args...)
		col.says(t, "a tick each")
		elapse(t, outage(t)/kills/2+time.Duration(r.Int64N(int64(outage(t)/kills))), col)
		col.signal(t, syscall.SIGKILL)
	}
	natsServer(t, nil, dir, "127.0.0.1", port)
	in := startSteady(t, nil, "ingest", "--data", data, "--nats", url)
	in.says(t, "ingest: "+url)
	col := startSteady(t, nil, append(args, "--duration", "1s")...)
	if code := col.wait(t, patience+outage(t)/5); code != 0 || !strings.Contains(col.stderr.String(), "that an earlier collector left in "+wal) {
		t.Fatalf("exit %d: %s", code, col.stderr.String())
	}
	took := time.Since(began)
	in.says(t, "complete")
	in.signal(t, syscall.SIGTERM)
	m := whole(t, data)
	var cut, received, missed int64
	for _, p := range m.Producers {
		if p.Cut {
			cut++
		}
		received, missed = received+p.Received, missed+p.Missed
	}
	// One that is killed before its first tick is written leaves no trace.
	if n := int64(len(m.Producers)); cut != n-1 || cut < kills*3/4 {
		t.Errorf("%d producers, of which %d were killed", n, cut)
	}
	if all := int64(took / interval); received+missed > all+1 || received < 2*kills {
		t.Errorf("%d ticks and %d missed of at most %d", received, missed, all)
	}
	if m.Quality["missed"] < cut { // each that came after another says what is not there
		t.Errorf("quality: %v", m.Quality)
	}
	if walBytes(t, wal) > 0 {
		t.Error("something is left in the log")
	}
	t.Logf("%d kills in %s: %d ticks stored, none missing or doubled, %d not taken while none ran", kills, took.Round(time.Second), received, missed)
}

// What a collector left is delivered by steady collect --deliver, and by a collector of
// another run.
func TestWhatAnEndedCollectorLeft(t *testing.T) {
	for _, how := range []string{"--deliver", "another run"} {
		t.Run(how, func(t *testing.T) {
			data, port, wal := t.TempDir(), freePort(t), t.TempDir()
			url := "nats://127.0.0.1:" + port
			args := func(system string, more ...string) []string {
				return append([]string{"collect", "--nats", url, "--experiment", "e", "--system", system, "--scenario", "c", "--interval", "20ms", "--host", "h", "--wal", wal}, more...)
			}
			col := startSteady(t, nil, args("s")...)
			col.says(t, "a tick each")
			await(t, "ticks in the log", func() bool { return walBytes(t, wal) > 20_000 })
			second := startSteady(t, nil, args("other")...)
			if code := second.wait(t, patience); code != exitFailed || !strings.Contains(second.stderr.String(), "another process writes there: end it, or choose another directory with --wal") {
				t.Errorf("a second collector: exit %d: %s", code, second.stderr.String())
			}
			col.signal(t, syscall.SIGINT)
			if code := col.cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(col.stderr.String(), "they stay in "+wal) {
				t.Errorf("exit %d: %s", code, col.stderr.String())
			}
			natsServer(t, nil, t.TempDir(), "127.0.0.1", port)
			in := startSteady(t, nil, "ingest", "--data", data, "--nats", url)
			in.says(t, "ingest: "+url)
			then := []string{"collect", "--nats", url, "--wal", wal, "--deliver"}
			if how != "--deliver" {
				then = args("other", "--duration", "100ms")
			}
			next := startSteady(t, nil, then...)
			if code := next.wait(t, patience); code != 0 {
				t.Fatalf("exit %d: %s", code, next.stderr.String())
			}
			await(t, "the folders", func() bool {
				ms := manifests(t, data)
				return slices.ContainsFunc(ms, func(m *schemas.Manifest) bool { return m.System == "s" }) && (how == "--deliver" || len(ms) == 2)
			})
			in.signal(t, syscall.SIGTERM)
			for _, m := range manifests(t, data) {
				if p := m.Producers[0]; m.Status != schemas.Complete || p.Received != *p.Expected {
					t.Errorf("%s: %s %q %+v", m.System, m.Status, m.Reasons, p)
				}
			}
			if walBytes(t, wal) > 0 {
				t.Error("something is left in the log")
			}
		})
	}
}
