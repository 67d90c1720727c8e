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
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/loaders"
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

// BenchmarkCollectBesideSadc runs steady collect (all sources, encoding, write-ahead log,
// publishing to a real nats-server), the same in its lean profile, and sadc side by side,
// a tick a second each, and reports the CPU time that each takes a tick, the ratio to
// sadc in the same seconds, as medians of rounds, and its memory.
func BenchmarkCollectBesideSadc(b *testing.B) {
	sadc := tool(b, "sadc", "/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc")
	port := freePort(b)
	url := "nats://127.0.0.1:" + port
	natsServer(b, nil, b.TempDir(), "127.0.0.1", port)
	startSteady(b, nil, "ingest", "--data", b.TempDir(), "--nats", url).says(b, "nats://")
	collect := func(system string, more ...string) *process {
		return startSteady(b, nil, append([]string{"collect", "--nats", url, "--experiment", "bench", "--system", system, "--scenario", "c"}, more...)...)
	}
	names := []string{"steady", "lean", "sadc", "sadc-XALL"}
	procs := []*process{collect("full"), collect("lean", "--profile", "lean"),
		start(b, nil, sadc, "1", filepath.Join(b.TempDir(), "sa")), start(b, nil, sadc, "-S", "XALL", "1", filepath.Join(b.TempDir(), "sa-xall"))}
	const settle, round, rounds = 10, 10, 6
	time.Sleep(settle * time.Second)
	ms := make([][]float64, len(procs))    // a tick, by round
	ofAll := make([][]float64, len(procs)) // ratio to sadc -S XALL, by round
	for b.Loop() {
		for range rounds {
			from := make([]int64, len(procs))
			for i, p := range procs {
				from[i] = cpuNS(b, p.cmd.Process.Pid)
			}
			time.Sleep(round * time.Second)
			used := make([]float64, len(procs))
			for i, p := range procs {
				used[i] = float64(cpuNS(b, p.cmd.Process.Pid)-from[i]) / round / 1e6
				ms[i] = append(ms[i], used[i])
			}
			for i := range procs {
				ofAll[i] = append(ofAll[i], used[i]/used[len(procs)-1])
			}
		}
	}
	for i, name := range names {
		b.ReportMetric(median(ms[i]), name+"-ms/tick")
		if i < 2 {
			b.ReportMetric(median(ofAll[i]), name+"/sadc-XALL")
			b.ReportMetric(float64(rssKiB(procs[i].cmd.Process.Pid))/1000*1.024, name+"-MB")
		}
	}
	b.ReportMetric(0, "ns/op") // a minute is a minute
}

// BenchmarkCollectOnABusyHost runs a collector of each class side by side, at a tick a
// second, beside twice as many busy loops as there are CPUs, for half a minute or as long
// as STEADY_BUSY says (10m), and reports the ticks missed and how late the others began.
func BenchmarkCollectOnABusyHost(b *testing.B) {
	duration := 30 * time.Second
	if text := os.Getenv("STEADY_BUSY"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			b.Fatalf("STEADY_BUSY: %v", err)
		}
	}
	data, port := b.TempDir(), freePort(b)
	url := "nats://127.0.0.1:" + port
	natsServer(b, nil, b.TempDir(), "127.0.0.1", port)
	in := startSteady(b, nil, "ingest", "--data", data, "--nats", url)
	in.says(b, "nats://")
	for range 2 * runtime.NumCPU() {
		start(b, nil, "sh", "-c", "while :; do :; done")
	}
	var procs []*process
	for b.Loop() {
		for _, class := range classes[1:] {
			procs = append(procs, startSteady(b, nil, "collect", "--nats", url, "--experiment", "busy", "--system", class, "--scenario", "c", "--class", class, "--duration", duration.String()))
		}
		for _, p := range procs {
			if code := p.wait(b, duration+time.Minute); code != 0 {
				b.Fatalf("%s: exit %d\n%s", p.name, code, p.stderr.String())
			}
		}
	}
	await(b, "the folders", func() bool { return len(manifests(b, data)) == len(classes)-1 })
	for _, class := range classes[1:] {
		r, err := loaders.Find(data, "busy/"+class+"/c/1")
		if err != nil {
			b.Fatal(err)
		}
		x, err := r.Table(&schemas.Collector)
		if err != nil {
			b.Fatal(err)
		}
		f := read(b, x)
		var late []float64
		for i := range f.Rows() {
			if c := f.Column("late_ns"); !c.Null(i) {
				late = append(late, float64(c.Ints[i])/1e6)
			}
		}
		slices.Sort(late)
		b.ReportMetric(float64(r.Manifest.Producers[0].Missed), class+"-missed")
		b.ReportMetric(late[len(late)*99/100], class+"-p99-late-ms")
		b.ReportMetric(late[len(late)/2], class+"-p50-late-ms")
	}
	b.ReportMetric(0, "ns/op")
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
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
