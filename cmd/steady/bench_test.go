package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/schemas"
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

// soakFolder writes a run folder of 72 h at a row a second: memory (58 metrics) and 15
// interfaces (16 metrics each) of AR(1) noise, 298 metrics in all.
func soakFolder(b *testing.B, data string) (metrics int) {
	b.Helper()
	const rows, interfaces = 72 * 3600, 15
	dir := filepath.Join(data, "runs", "experiment=soak", "system=s", "scenario=c", "run=01")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := schemas.Manifest{Schema: schemas.ManifestSchema, ID: "SOAK", Experiment: "soak", System: "s", Scenario: "c", Run: "01", Status: schemas.Complete,
		Start: &start, DurationNS: rows * 1e9, Hosts: []schemas.Host{{Host: "h", Roles: []string{"sut"}}}}
	rnd := rand.New(rand.NewPCG(1, 2))
	write := func(t *schemas.Table, devices []string) {
		var frame columns.Frame
		for _, c := range t.CommonColumns() {
			frame = append(frame, &columns.Column{Name: c.Name, Type: c.Physical(), Time: c.Name == "time", Required: c.Name != "time" && c.Name != "interval_ns"})
		}
		noise := make([][]float64, len(devices))
		for i := range t.Columns {
			frame = append(frame, &columns.Column{Name: t.Columns[i].Name, Type: t.Columns[i].Physical()})
		}
		path := filepath.Join(dir, t.Name+".parquet")
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		sum := sha256.New()
		w := columns.NewWriter(io.MultiWriter(f, sum), frame, nil)
		for d := range noise {
			noise[d] = make([]float64, len(t.Columns))
		}
		for hour := range rows / 3600 {
			frame.Reset()
			for d, name := range devices {
				for s := range 3600 {
					at := int64(hour*3600 + s + 1)
					frame[0].AppendInt(start.UnixMicro() + at*1e6)
					frame[1].AppendInt(at * 1e9)
					frame[2].AppendInt(0)
					frame[3].AppendInt(1e9)
					frame[4].AppendInt(1)
					frame[5].AppendInt(at)
					frame[6].AppendText("h")
					if t.Device != "" {
						frame[7].AppendText(name)
					}
					for c := range t.Columns {
						noise[d][c] = 0.99*noise[d][c] + 0.14*rnd.NormFloat64()
						frame[len(frame)-len(t.Columns)+c].AppendInt(int64(1e9 * (1 + 0.01*noise[d][c])))
					}
				}
			}
			if err := w.WriteGroup(frame); err != nil {
				b.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), f.Close()); err != nil {
			b.Fatal(err)
		}
		st, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		m.Tables = append(m.Tables, schemas.TableFile{Table: t.Name, Version: t.Version, Rows: int64(rows * len(devices)), Bytes: st.Size(), SHA256: hex.EncodeToString(sum.Sum(nil))})
		metrics += len(devices) * len(t.Columns)
	}
	write(&schemas.Memory, []string{""})
	var names []string
	for i := range interfaces {
		names = append(names, fmt.Sprintf("eth%d", i))
	}
	write(&schemas.Net, names)
	if err := ingest.WriteManifest(dir, &m); err != nil {
		b.Fatal(err)
	}
	return metrics
}

// BenchmarkDriftRun judges every metric of a 72 h run at a row a second, from Parquet,
// in a process of its own, whose time and peak memory it reports.
func BenchmarkDriftRun(b *testing.B) {
	data := b.TempDir()
	metrics := soakFolder(b, data)
	peak := int64(0)
	for b.Loop() {
		p := startSteady(b, nil, "drift", "soak/s/c/1", "--data", data, "--json")
		<-p.done
		if p.cmd.ProcessState.ExitCode() != 0 {
			b.Fatal(p.stderr.String())
		}
		peak = max(peak, p.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	b.ReportMetric(float64(peak)/1024, "peak-MiB")
	b.ReportMetric(float64(metrics), "metrics")
}
