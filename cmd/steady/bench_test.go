package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// cpuNS returns the CPU time that a process's threads have used, from schedstat: the
// ticks of /proc/PID/stat are ten times too coarse.
func cpuNS(tb testing.TB, pid int) (sum int64) {
	tb.Helper()
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, path := range tasks {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		var ns int64
		if _, err := fmt.Sscan(string(b), &ns); err != nil {
			tb.Fatalf("%s: %v", path, err)
		}
		sum += ns
	}
	return sum
}

// rssKiB returns a process's resident memory.
func rssKiB(pid int) (kib int64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, resident int64
	fmt.Sscan(string(b), &size, &resident)
	return resident * int64(os.Getpagesize()) / 1024
}

// BenchmarkCollectBesideSadc runs steady collect (all sources, encoding, publishing to
// a server in another process) and sadc side by side, a tick a second each, and reports
// the CPU time that each takes a tick, in the same half minute, and their memory.
func BenchmarkCollectBesideSadc(b *testing.B) {
	sadc := tool(b, "sadc", "/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc")
	hub := startSteady(b, nil, "ingest", "--data", b.TempDir(), "--listen", "127.0.0.1:0")
	hub.says(b, "nats://")
	var url string
	if _, err := fmt.Sscanf(hub.stderr.String(), "steady: ingest: %s to", &url); err != nil {
		b.Fatal(err)
	}
	ours := startSteady(b, nil, "collect", "--nats", url, "--experiment", "bench", "--system", "s", "--scenario", "c")
	theirs := start(b, nil, sadc, "1", filepath.Join(b.TempDir(), "sa"))
	all := start(b, nil, sadc, "-S", "XALL", "1", filepath.Join(b.TempDir(), "sa-xall"))
	const settle, measured = 5, 30
	time.Sleep(settle * time.Second)
	from := [3]int64{cpuNS(b, ours.cmd.Process.Pid), cpuNS(b, theirs.cmd.Process.Pid), cpuNS(b, all.cmd.Process.Pid)}
	for b.Loop() {
		time.Sleep(measured * time.Second)
	}
	ticks := float64(measured * b.N)
	ms := func(pid int, from int64) float64 { return float64(cpuNS(b, pid)-from) / ticks / 1e6 }
	o, t, x := ms(ours.cmd.Process.Pid, from[0]), ms(theirs.cmd.Process.Pid, from[1]), ms(all.cmd.Process.Pid, from[2])
	b.ReportMetric(o, "steady-ms/tick")
	b.ReportMetric(t, "sadc-ms/tick")
	b.ReportMetric(x, "sadc-XALL-ms/tick")
	b.ReportMetric(o/t, "steady/sadc")
	b.ReportMetric(o/x, "steady/sadc-XALL")
	b.ReportMetric(float64(rssKiB(ours.cmd.Process.Pid))/1024, "steady-MiB")
	b.ReportMetric(0, "ns/op") // a minute is a minute
}
