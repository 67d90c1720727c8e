package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
)

// What a process's row says is what it used, by getrusage and by what it was told to do.
func TestLiveProcess(t *testing.T) {
	for _, keep := range []int{many, 0} {
		c := startChild(t)
		c.ask(`name 0 %d) R (\n 1`, c.Process.Pid)
		device := fmt.Sprintf("%d) R (\uFFFD 1[%[1]d]", c.Process.Pid)
		s := openTestProcesses(t, "/", keep, collector.Now, fmt.Sprintf("each fds %d) R (*", c.Process.Pid))
		b := newBlocks(s)
		key := func(column string) string { return "process/" + device + "/" + column }

		// What the child uses between a sample and its own account of it stays unknown:
		// each sample is between two accounts.
		u0, first, u1 := c.usage(), sampled(t, s, b), c.usage()
		c.ask("burn 200")
		c.ask("memory 32")
		c.ask("threads 3")
		c.ask("sleep 20")
		u2, second, u3 := c.usage(), sampled(t, s, b), c.usage()
		d := since(first, second)
		const ms, mib = 1e6, 1 << 20
		least, most := u2.cpu()-u1.cpu(), u3.cpu()-u0.cpu()
		within(t, "run time", d, key("run_ns"), least, most, ms)
		within(t, "user and system", map[string]int64{"": d[key("user_ns")] + d[key("system_ns")]}, "", least, most, 21*ms)
		within(t, "minor faults", d, key("minflt"), u2.minflt-u1.minflt, u3.minflt-u0.minflt, 0)
		within(t, "voluntary switches", d, key("cswch"), u2.nvcsw-u1.nvcsw, u3.nvcsw-u0.nvcsw, 0)
		within(t, "involuntary switches", d, key("nvcswch"), u2.nivcsw-u1.nivcsw, u3.nivcsw-u0.nivcsw, 0)
		if own := u3.threadNvcsw - u0.threadNvcsw; own >= u2.nvcsw-u1.nvcsw {
			t.Errorf("the first thread alone switched %d times: it does not tell the process's number from its own", own)
		}
		within(t, "anonymous memory", d, key("anon_bytes"), 32*mib, 32*mib, 2*mib)
		parts := second[key("anon_bytes")] + second[key("file_bytes")] + second[key("shmem_bytes")]
		within(t, "resident memory", second, key("rss_bytes"), parts, parts, 0)
		within(t, "write calls", d, key("syscw"), 6, 7, 0) // five answers, and usage's
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", c.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		within(t, "threads", second, key("threads"), int64(len(threads)), int64(len(threads)), 0)
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		within(t, "open files", second, key("fds"), int64(len(fds)), int64(len(fds)), 0)

		file := filepath.Join(t.TempDir(), "f")
		if c.tryIO(file) {
			first = sampled(t, s, b)
			c.ask("write 4 %s", file)
			c.ask("read 4 %s", file)
			d = since(first, sampled(t, s, b))
			within(t, "bytes written", d, key("write_bytes"), 4*mib, 4*mib+mib/4, 0)
			within(t, "bytes read", d, key("read_bytes"), 4*mib, 4*mib+mib/4, 0)
			within(t, "bytes of write calls", d, key("wchar_bytes"), 4*mib, 4*mib+100, 0)
		}

		// A thread that ends takes with it only what it did since the last tick.
		u0, first, u1 = c.usage(), sampled(t, s, b), c.usage()
		c.ask("thread 30")
		u2, second, u3 = c.usage(), sampled(t, s, b), c.usage()
		d = since(first, second)
		if v := d[key("run_ns")]; v < 0 || v > u3.cpu()-u0.cpu()+ms {
			t.Errorf("run time %d, used at most %d", v, u3.cpu()-u0.cpu())
		}
		within(t, "user and system", map[string]int64{"": d[key("user_ns")] + d[key("system_ns")]}, "", u2.cpu()-u1.cpu(), u3.cpu()-u0.cpu(), 21*ms)
	}
}

// A sum over processes keeps what those did that ended, but for what they did after the
// last tick they saw; the kernel's whole account of them comes from wait4.
func TestLiveTree(t *testing.T) {
	idle := startChild(t)
	u0 := idle.usage()
	device := fmt.Sprintf("tree:%d", os.Getpid())
	s := openTestProcesses(t, "/", many, collector.Now, device, fmt.Sprintf("each pid:%d", idle.Process.Pid))
	b := newBlocks(s)
	before := sampled(t, s, b)
	self := rusage(unix.RUSAGE_SELF)
	key := func(column string) string { return "process/" + device + "/" + column }
	var used time.Duration
	n := before[key("processes")]
	for range 3 {
		c := startChild(t)
		c.ask("burn 50")
		after := sampled(t, s, b)
		if got := after[key("processes")]; got != n+1 {
			t.Errorf("%d processes, want %d", got, n+1)
		}
		c.in.Close()
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		r := c.ProcessState.SysUsage().(*syscall.Rusage)
		used += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		if got := sampled(t, s, b); got[key("processes")] != n || got[key("run_ns")] < after[key("run_ns")] || got[key("user_ns")] < after[key("user_ns")] {
			t.Errorf("after it ended: %v, before: %v", got, after)
		}
	}
	d := since(before, sampled(t, s, b))
	own, u1 := rusage(unix.RUSAGE_SELF), idle.usage()
	most := used.Nanoseconds() + u1.cpu() - u0.cpu() + own.Utime.Nano() + own.Stime.Nano() - self.Utime.Nano() - self.Stime.Nano()
	if got := d[key("run_ns")]; got < 150e6 || got > most+1e6 {
		t.Errorf("run time %d, burnt 150 ms, used %d", got, most)
	}
}

// A zombie has all that it used, and no memory.
func TestLiveZombie(t *testing.T) {
	c := startChild(t)
	device := fmt.Sprintf("pid:%d", c.Process.Pid)
	s := openTestProcesses(t, "/", many, collector.Now, device)
	b := newBlocks(s)
	first := sampled(t, s, b)
	c.ask("burn 60")
	c.in.Close()
	for state, threads := "", ""; state != "Z" || threads != "1"; { // it ends as soon as it can
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		state, threads = f[0], f[17]
	}
	second := sampled(t, s, b)
	expect(t, b, device, "processes", 1)
	expect(t, b, device, "threads", 1)
	expect(t, b, device, "rss_bytes", 0)
	expect(t, b, device, "anon_bytes", 0)
	if v := value(b, device, "syscw"); v < 1 {
		t.Errorf("%d write calls", v)
	}
	d := since(first, second)
	key := "process/" + device + "/"
	if got := d[key+"user_ns"] + d[key+"system_ns"]; got < 40e6 {
		t.Errorf("CPU time %d", got)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	r := c.ProcessState.SysUsage().(*syscall.Rusage)
	if got, all := second[key+"user_ns"]+second[key+"system_ns"], r.Utime.Nano()+r.Stime.Nano(); got > all {
		t.Errorf("CPU time %d of %d", got, all)
	}
	third := sampled(t, s, b)
	expect(t, b, device, "processes", 0)
	for _, column := range []string{"user_ns", "system_ns", "run_ns", "minflt"} {
		if third[key+column] != second[key+column] {
			t.Errorf("%s: %d after it was gone, %d before", column, third[key+column], second[key+column])
		}
	}
}

// Threads of the kernel have a name, CPU time and no memory.
func TestLiveKernelThread(t *testing.T) {
	text, err := os.ReadFile("/proc/2/comm")
	if err != nil || string(text) != "kthreadd\n" {
		t.Skip("needs to see the kernel's own threads: this is another pid namespace")
	}
	s := openTestProcesses(t, "/", many, collector.Now, "tree:2", "cmd:kthreadd", "kthreadd")
	b := newBlocks(s)
	sampled(t, s, b)
	if v := value(b, "tree:2", "processes"); v < 10 {
		t.Errorf("%d threads", v)
	}
	expect(t, b, "tree:2", "rss_bytes", 0)
	expect(t, b, "tree:2", "anon_bytes", 0)
	expect(t, b, "kthreadd", "processes", 1)
	expect(t, b, "cmd:kthreadd", "processes", 0)
	if v := value(b, "tree:2", "run_ns"); v < 0 {
		t.Errorf("run time %d", v)
	}
}

// Processes that end while they are read are gone as a whole: no column of the sum
// becomes unknown by that, and none falls.
func TestLiveShortProcesses(t *testing.T) {
	for _, keep := range []int{many, 0} {
		c := startChild(t)
		device := fmt.Sprintf("tree:%d", c.Process.Pid)
		s := openTestProcesses(t, "/", keep, collector.Now, device)
		b := newBlocks(s)
		last := sampled(t, s, b)
		if _, err := fmt.Fprintln(c.in, "spawn 15"); err != nil {
			t.Fatal(err)
		}
		answer := make(chan string, 1)
		go func() {
			line, _ := c.out.ReadString('\n') // none is not the answer
			answer <- line
		}()
		for running := true; running; {
			select {
			case line := <-answer:
				if running = false; line != "done\n" {
					t.Fatalf("answer %q", line)
				}
			default:
			}
			now := sampled(t, s, b)
			for key, v := range last {
				if got, ok := now[key]; !ok {
					t.Fatalf("%s became unknown: %q", key, told(s))
				} else if column := key[strings.LastIndexByte(key, '/')+1:]; processColumn(column) < firstGauge && got < v {
					t.Fatalf("%s fell from %d to %d", key, v, got)
				}
			}
			last = now
		}
	}
}
