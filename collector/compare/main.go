// Command compare holds steady's sources against sysstat's sadc on this host, at the
// same seconds: each of sadc's readings must lie between ours just before and just
// after it. It makes load for the second half of the time.
//
//	go run ./collector/compare                 120 s
//	go run ./collector/compare -for 20s -o comparison.html
//
// It prints a line a column of sar's, and exits with 1 if one disagrees without a known
// reason. A column of sar's that its table does not know is an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/procfs"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 2 && args[0] == loadArg {
		return makeLoad(args[1], stdin, stderr)
	}
	fl := flag.NewFlagSet("compare", flag.ContinueOnError)
	fl.SetOutput(stderr)
	length := fl.Duration("for", 2*time.Minute, "how long")
	load := fl.String("load", "all", "none, or all: load in the second half")
	asJSON := fl.Bool("json", false, "print JSON")
	page := fl.String("o", "", "write an HTML page with a chart a column to this file")
	if err := fl.Parse(args); err != nil {
		return 2
	}
	if fl.NArg() > 0 || *length < 2*time.Second || *load != "none" && *load != "all" {
		fmt.Fprintln(stderr, "compare: want -for 2s or more, -load none or all, and no arguments")
		return 2
	}
	c, _, err := compare(ctx, *length, *load == "all", stderr)
	if err == nil && *page != "" {
		err = c.writePage(*page)
	}
	if err == nil {
		if *asJSON {
			err = c.writeJSON(stdout)
		} else {
			err = c.writeText(stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "compare:", err)
		return 1
	}
	if s := c.summary(); s.Differ > s.Known {
		return 1
	}
	return 0
}

// comparison is all that came of a run.
type comparison struct {
	version  string // of sysstat
	began    time.Time
	records  int
	brackets []bracket
	absent   map[string]string // what of ours this host lacks
	length   time.Duration
	load     bool // in the second half of the length
	results  []*result
}

// sadcPaths are where distributions keep sadc.
var sadcPaths = []string{"/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc", "/usr/lib/sa/sadc", "/usr/libexec/sysstat/sadc"}

// errNoSadc says that there is nothing to compare with.
var errNoSadc = errors.New("sadc and sadf are not here: install package sysstat")

func findSadc() (sadc, sadf string, err error) {
	for _, path := range sadcPaths {
		if _, err := os.Stat(path); err == nil {
			if sadf, err = exec.LookPath("sadf"); err != nil {
				return "", "", errNoSadc
			}
			return path, sadf, nil
		}
	}
	return "", "", errNoSadc
}

// compare compares for a while. It returns the rows of sar's, too.
func compare(ctx context.Context, length time.Duration, load bool, stderr io.Writer) (c *comparison, rows []row, err error) {
	sadc, sadf, err := findSadc()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "steady-compare-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c = &comparison{version: version(sadf), began: time.Now(), length: length, load: load}
	sources, absent, err := procfs.Sources("/", collector.Now, procfs.Options{InterruptCells: true})
	if err != nil {
		return nil, nil, err
	}
	c.absent = absent
	defer func() {
		for _, s := range sources {
			s.Close() // they only read
		}
	}()
	stop, loaded := make(chan struct{}), make(chan error, 1)
	go func() { loaded <- loadFrom(length/2, stop, load, dir, stderr) }()
	file := filepath.Join(dir, "sa")
	records := int(length/time.Second) + 1
	cmd := exec.Command(sadc, "-S", "XALL", "1", fmt.Sprint(records), file)
	c.brackets, err = watch(ctx, cmd, file, newReader(sources))
	close(stop)
	if err = errors.Join(err, <-loaded); err != nil {
		return nil, nil, err
	}
	if rows, err = raw(ctx, sadf, file); err != nil {
		return nil, nil, err
	}
	c.records = len(c.brackets)
	c.results, err = judge(activities, rows, c.brackets)
	return c, rows, err
}

// loadFrom makes load from then until stop is closed.
func loadFrom(then time.Duration, stop <-chan struct{}, load bool, dir string, stderr io.Writer) error {
	t := time.NewTimer(then)
	defer t.Stop()
	select {
	case <-stop:
		return nil
	case <-t.C:
	}
	if !load {
		return nil
	}
	end, err := startLoad(dir, stderr)
	if err != nil {
		return err
	}
	<-stop
	return end()
}

// version returns sysstat's version.
func version(sadf string) string {
	out, err := exec.Command(sadf, "-V").CombinedOutput()
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 3 {
		return "unknown"
	}
	return fields[2]
}
