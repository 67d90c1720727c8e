package wal

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// Environment of the process that is killed.
const (
	childDir  = "WAL_TEST_DIR"
	childKill = "WAL_TEST_KILL_BEFORE" // number of the step, from 1
)

func TestMain(m *testing.M) {
	if os.Getenv(childDir) != "" {
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	childRecords = 80
	childLag     = 30 // of what it releases behind what it appends
)

// child goes on where the log ends, up to so many records, releases all and closes. It
// says what it did on stdout, and kills itself before the step asked for.
func child() error {
	kill, _ := strconv.Atoi(os.Getenv(childKill))
	steps := 0
	l, err := Open(os.Getenv(childDir), Options{Limit: 12 << 10, Head: func() []byte { return []byte("head") }, Step: func(what string) {
		if steps++; steps == kill {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		fmt.Println("step", what)
	}})
	if err != nil {
		return err
	}
	for next := l.Last() + 1; next <= childRecords; {
		to := min(next+next%3, childRecords)
		if err := l.Append(records(next, to)...); err != nil {
			return err
		}
		fmt.Println("appended", to)
		next = to + 1
		if to%4 == 0 {
			if err := l.Sync(); err != nil {
				return err
			}
		}
		if to > childLag {
			fmt.Println("releasing", to-childLag)
			if err := l.Release(to - childLag); err != nil {
				return err
			}
		}
	}
	fmt.Println("releasing", childRecords)
	if err := l.Release(childRecords); err != nil {
		return err
	}
	return l.Close()
}

// told is what a child said.
type told struct {
	steps               []string
	appended, releasing uint64
	killed              bool
}

func run(t *testing.T, dir string, kill int) (out told) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childKill+"="+strconv.Itoa(kill))
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
		out.killed = true
	} else if err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewScanner(bytes.NewReader(b)); in.Scan(); {
		var what, rest string
		fmt.Sscan(in.Text(), &what, &rest)
		n, _ := strconv.ParseUint(rest, 10, 64)
		switch what {
		case "step":
			out.steps = append(out.steps, in.Text())
		case "appended":
			out.appended = n
		case "releasing":
			out.releasing = n
		}
	}
	return out
}

// Killed before every single creation, write, sync and removal: what was appended and
// not released is there, whole and once, and the next process goes on.
func TestKilledBeforeEveryStep(t *testing.T) {
	undisturbed := run(t, t.TempDir(), 0)
	if len(undisturbed.steps) < 50 || undisturbed.killed {
		t.Fatalf("%+v", undisturbed)
	}
	for kill := 1; kill <= len(undisturbed.steps); kill++ {
		b := newBench(t)
		first := run(t, b.dir, kill)
		if !first.killed {
			t.Fatalf("step %d not reached", kill)
		}
		fail := func(format string, v ...any) {
			t.Helper()
			t.Fatalf("killed before %s (%d): %s", undisturbed.steps[kill-1], kill, fmt.Sprintf(format, v...))
		}
		l := b.open()
		if len(b.warned) > 0 {
			fail("warned %q", b.warned)
		}
		// In all of Close only released records are left, or none: then numbers begin anew.
		if l.Last() != first.appended && !(l.Last() == 0 && first.releasing == childRecords) {
			fail("last is %d, appended %d", l.Last(), first.appended)
		}
		if l.Released() > first.releasing {
			fail("released %d of %d", l.Released(), first.releasing)
		}
		seen := map[uint64]int{}
		for _, n := range b.visited {
			seen[n]++
		}
		for n := first.releasing + 1; n <= first.appended; n++ {
			if seen[n] != 1 {
				fail("record %d is there %d times: %v", n, seen[n], b.visited)
			}
		}
		from := first.releasing + 1
		for {
			r, err := l.Read(from)
			if err == io.EOF {
				break
			}
			if err != nil || r.Seq != from {
				fail("asked for %d, read %d, %v", from, r.Seq, err)
			}
			from++
		}
		if l.Last() > 0 && from != first.appended+1 {
			fail("read up to %d of %d", from-1, first.appended)
		}
		b.crash(l)
		if second := run(t, b.dir, 0); second.killed || len(b.files()) > 0 {
			fail("the next process left %q", b.files())
		}
	}
	t.Logf("%d steps", len(undisturbed.steps))
}
