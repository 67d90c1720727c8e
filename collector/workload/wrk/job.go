package wrk

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/workload"
	"github.com/steadybench/steady/outputs"
	"github.com/steadybench/steady/schemas"
)

//go:embed count.lua
var countLua []byte

const (
	driver = "wrk"
	unit   = "request"
	mark   = "STEADY " // begins the lines of count.lua
	// originEnv tells count.lua when interval 0 begins.
	originEnv = "STEADY_ORIGIN_NS="
	// agreement is how far sums may be apart.
	agreement = 0.01
)

// spareTime is how long wrk may take beyond its duration: for connecting, and to sum up.
var spareTime = 30 * time.Second

const (
	warmup = iota
	measure
)

var phaseNames = [...]string{"warmup", "measure"}

// writeScript puts count.lua into a directory.
func writeScript(dir string) (path string, err error) {
	path = filepath.Join(dir, "count.lua")
	if err := os.WriteFile(path, countLua, 0o644); err != nil {
		return "", fmt.Errorf("wrk: %w", err)
	}
	return path, nil
}

// job is the load of a run.
type job struct {
	w           *Workload
	env         *workload.Env
	server      *nginx // nil: another server
	files       int
	script      string
	loadCPUs    int
	connections []int       // of each process of wrk
	urls        [][2]string // of each process and phase
	origin      int64       // start of the run on the boot time clock

	mu     sync.Mutex // guards out, and what the processes' outputs fill
	out    workload.Out
	warmed *ledger // of the warm-up, until the measured phase begins
}

// threads returns how many threads a process with so many connections has.
func (j *job) threads(connections int) int {
	all := j.w.Threads
	if all == 0 {
		all = j.loadCPUs
	}
	return min(max(all/len(j.connections), 1), connections)
}

func (j *job) step() int64 {
	if j.env.Interval <= 0 {
		return int64(time.Second)
	}
	return int64(j.env.Interval)
}

// seconds returns a phase's length as wrk takes it: whole seconds, at least one.
func seconds(d time.Duration) int { return max(int(math.Ceil(d.Seconds())), 1) }

// command returns the i-th process of a phase. The soft limit of open files is raised to
// the hard one by the shell that becomes wrk.
func (j *job) command(phase, i int) *workload.Command {
	d := j.env.Measure
	if phase == warmup {
		d = j.env.Warmup
	}
	c := j.connections[i]
	return &workload.Command{Path: "/bin/sh", CPUs: j.env.Load, Env: []string{originEnv + strconv.FormatInt(j.origin, 10)}, Args: []string{"-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(j.files),
		j.w.Wrk, "-t" + strconv.Itoa(j.threads(c)), "-c" + strconv.Itoa(c), "-d" + strconv.Itoa(seconds(d)) + "s",
		"--timeout", strconv.Itoa(int(time.Duration(j.w.Timeout)/time.Second)) + "s", "--latency", "-s", j.script, j.urls[i][phase],
		"--", strconv.FormatInt(j.step(), 10), j.dump(i)}}
}

// dump is the file in which a process leaves its histogram.
func (j *job) dump(i int) string {
	return filepath.Join(j.env.Dir, fmt.Sprintf("latency-%d.json", i+1))
}

// outputName is the file of what a process printed.
func (j *job) outputName(phase, i int) string {
	name := "wrk-" + phaseNames[phase]
	if len(j.connections) > 1 {
		name += "-" + strconv.Itoa(i+1)
	}
	return name + ".txt"
}

// Run implements workload.Job.
func (j *job) Run(ctx context.Context, out workload.Out) (err error) {
	j.out = out
	if !workload.SleepUntil(ctx, j.origin) {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	if j.server != nil {
		watching.Go(func() {
			select {
			case <-j.server.process.Done:
				cancel(fmt.Errorf("wrk: nginx ended%s", j.server.complaints()))
			case <-ctx.Done():
			}
		})
		defer func() {
			out.Output("nginx.conf", j.server.config)
			out.Output("nginx-error.txt", j.server.log())
			if c := j.server.complaints(); c != "" {
				j.env.Warn(fmt.Errorf("wrk: nginx%s", c))
			}
		}()
	}
	polls := &pollRows{job: j}
	if j.server != nil && j.server.status != nil {
		polling, end := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { polls.run(polling) })
		defer wg.Wait() // before the others: it says rows
		defer end()
	}
	if j.env.Warmup > 0 {
		if _, err := j.drive(ctx, warmup); err != nil {
			return err
		}
	}
	before, beforeErr := j.read()
	results, err := j.drive(ctx, measure)
	if err != nil {
		return err
	}
	after, afterErr := j.read()
	if err := errors.Join(beforeErr, afterErr); err != nil {
		j.env.Warn(fmt.Errorf("wrk: the requests can't be held against nginx's count: stub_status: %w", err))
	} else if j.server != nil && j.server.status != nil {
		j.compare(results, after.requests-before.requests)
	}
	polls.sum(results.end)
	return nil
}

// read asks stub_status, more than once if it has to.
func (j *job) read() (r reading, err error) {
	if j.server == nil || j.server.status == nil {
		return reading{}, nil
	}
	for range 2 {
		if r, err = j.server.status.poll(); err == nil {
			break
		}
	}
	return r, err
}

// compare warns if nginx counted another number of requests than wrk. Those in flight at
// the end of either phase are counted by nginx alone.
func (j *job) compare(r *result, counted int64) {
	var answered int64
	for _, p := range r.processes {
		answered += int64(p.figure("operations") + p.figure("errors_status"))
	}
	_, boot := collector.Now()
	j.mu.Lock()
	j.out.Row(j.summary(boot, r.end-r.begin, "stub_status", "requests", unit, float64(counted)))
	j.mu.Unlock()
	off := math.Abs(float64(counted - answered))
	if off > agreement*float64(max(counted, answered))+2*float64(j.w.Connections) {
		j.env.Warn(fmt.Errorf("wrk: counted %d answers in the measured phase, nginx (stub_status) %d requests: something else asks this nginx, or answers were lost", answered, counted))
	}
}

// process is a process of wrk in a phase.
type process struct {
	*workload.Process
	parser  outputs.Wrk
	threads int
	begun   int   // threads that have
	begin   int64 // when the last of them did: wrk's own start
	err     error // of its output

	report   *outputs.Report
	interval outputs.Interval
}

// figure returns a figure of the report, 0 if it is not there.
func (p *process) figure(metric string) float64 {
	for _, f := range p.report.Figures {
		if f.Metric == metric {
			return f.Value
		}
	}
	return 0
}

// result is what came of a phase.
type result struct {
	begin, end int64 // on the boot time clock
	processes  []*process
}

// drive carries out a phase. The rows of the warm-up end where the measured phase
// begins.
func (j *job) drive(ctx context.Context, phase int) (*result, error) {
	planned := time.Duration(seconds(j.env.Measure)) * time.Second
	if phase == warmup {
		planned = time.Duration(seconds(j.env.Warmup)) * time.Second
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bound, end := context.WithTimeoutCause(ctx, planned+spareTime, fmt.Errorf("wrk: did not end within %v of its duration of %v", spareTime, planned))
	defer end()

	r := &result{}
	for _, c := range j.connections {
		r.processes = append(r.processes, &process{threads: j.threads(c)})
	}
	var rows []span
	l := &ledger{origin: j.origin, step: j.step(), emit: func(s span) {
		rows = append(rows, s)
		if err := j.row(s, outputs.Interval{}); err != nil {
			cancel(err)
		}
	}}
	var ended sync.WaitGroup
	errs := make([]error, len(j.connections))
	for i, p := range r.processes {
		closing := false
		lines := &workload.Lines{Each: func(line []byte) {
			j.mu.Lock()
			defer j.mu.Unlock()
			if told, ok := bytes.CutPrefix(line, []byte(mark)); ok {
				if err := j.told(r, l, phase, i, string(told)); err != nil {
					p.err = errors.Join(p.err, fmt.Errorf("wrk: line %q: %w", line[:min(len(line), 100)], err))
					cancel(p.err)
				}
				return
			}
			if !closing {
				line = append(line, '\n')
			}
			j.out.Output(j.outputName(phase, i), line)
			_, err := p.parser.Line(strings.TrimSuffix(string(line), "\n"))
			p.err = errors.Join(p.err, err)
		}}
		command := j.command(phase, i)
		command.Stdout = lines
		started, err := command.Start()
		if err != nil {
			cancel(err)
			errs[i] = err
			break
		}
		p.Process = started
		ended.Go(func() {
			errs[i] = started.Wait(bound)
			closing = true
			lines.Close()
			if errs[i] != nil {
				cancel(errs[i]) // one without the others is no result
			}
		})
	}
	ended.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}

	j.mu.Lock()
	defer j.mu.Unlock()
	if r.begin == 0 {
		return nil, errors.New("wrk: its script did not say that all threads began: is this a wrk without LuaJIT's ffi?")
	}
	for i, p := range r.processes {
		if err := j.finish(p, phase, i); err != nil {
			return nil, err
		}
		r.end = max(r.end, p.begin+p.report.DurationNS)
	}
	if phase == warmup {
		j.warmed = l
		return r, nil
	}
	last, ok := l.close(r.end)
	if !ok {
		return nil, errors.New("wrk: no time passed")
	}
	rows = append(rows, last)
	return r, j.measured(r, rows)
}

// told takes a line of count.lua.
func (j *job) told(r *result, l *ledger, phase, i int, line string) error {
	p := r.processes[i]
	fields := strings.Fields(line)
	begin := len(fields) == 3 && fields[0] == "begin"
	if begin {
		fields = fields[1:]
	}
	v := make([]int64, len(fields))
	for k, f := range fields {
		var err error
		if v[k], err = strconv.ParseInt(f, 10, 64); err != nil {
			return err
		}
	}
	errForm := errors.New("not as the script writes it")
	if len(v) != map[bool]int{true: 2, false: 5}[begin] || slices.Min(v) < 0 || v[0] < 1 || v[0] > int64(p.threads) {
		return errForm
	}
	thread := [2]int{i, int(v[0])}
	_, joined := l.threads[thread]
	_, now := collector.Now()
	switch {
	case joined == begin:
		return errForm
	case begin && (v[1] < l.origin || v[1] > now), !begin && (v[1] > v[4] || v[4] > l.at(now)):
		return errors.New("of a time out of the run's")
	case !begin:
		l.report(thread, v[1], counts{v[2], v[3]}, v[4])
		return nil
	}
	p.begun++
	p.begin = max(p.begin, v[1])
	l.join(thread, v[1])
	for _, p := range r.processes {
		if p.begun < p.threads {
			return nil
		}
	}
	r.begin = r.processes[0].begin
	for _, p := range r.processes {
		r.begin = min(r.begin, p.begin)
	}
	if j.warmed != nil {
		if last, ok := j.warmed.close(r.begin); ok {
			if err := j.row(last, outputs.Interval{}); err != nil {
				return err
			}
		}
		j.warmed = nil
	}
	j.out.Phase(phaseNames[phase], r.begin)
	l.start(r.begin)
	return nil
}

// finish reads what a process that has ended leaves.
func (j *job) finish(p *process, phase, i int) error {
	dump, err := os.ReadFile(j.dump(i))
	if err == nil {
		_, err = p.parser.Line("WRK_JSON " + strings.TrimSpace(string(dump)))
		os.Remove(j.dump(i))
	}
	if err != nil {
		j.env.Warn(fmt.Errorf("wrk: no histogram: %w", err))
	}
	if p.err != nil {
		return p.err
	}
	intervals, report, err := p.parser.End()
	if err != nil {
		return err
	}
	if len(intervals) != 1 {
		return errors.New("wrk: ended without a result: " + strings.Join(report.Failed, "; "))
	}
	p.report, p.interval = report, intervals[0]
	for k := range report.Figures {
		report.Figures[k].Phase = phaseNames[phase]
	}
	return nil
}

// row says a row of table workload; iv has what it holds beside the counts.
func (j *job) row(s span, iv outputs.Interval) error {
	iv.FromNS, iv.ToNS = 0, s.end-s.begin
	if iv.Values == nil {
		iv.Values = map[string]float64{}
	}
	iv.Values["operations"] = float64(s.good)
	iv.Values["errors"] += float64(s.bad)
	rows, err := iv.Rows(driver, unit, wallOf(s.end), s.end)
	for _, r := range rows {
		j.out.Row(r)
	}
	return err
}

// wallOf returns the wall time of a moment of the boot time clock that has just been.
func wallOf(bootNS int64) int64 {
	wall, boot := collector.Now()
	return wall - (boot - bootNS)
}

func (j *job) summary(bootNS, intervalNS int64, source, metric, unit string, value float64) schemas.Row {
	return workload.SummaryRow(wallOf(bootNS), bootNS, intervalNS, source, metric, phaseNames[measure], unit, value)
}

// measured says what came of the measured phase: the last row, with the latencies, the
// summary and what is not as it should be.
func (j *job) measured(r *result, rows []span) error {
	last := rows[len(rows)-1]
	whole, failed := merge(r.processes)
	iv := outputs.Interval{Latencies: whole.Latencies, Notes: whole.Notes, Values: map[string]float64{"errors": failed["socket"]}}
	for column, v := range whole.Values {
		if strings.HasPrefix(column, "latency_") {
			iv.Values[column] = v
		}
	}
	if len(iv.Latencies) > 0 {
		iv.Notes = append(iv.Notes, outputs.Note{Column: "latency_hist", Reason: "coarse", Detail: "the latencies of this row are those of the whole measured phase: wrk tells none a second"})
	}
	if n := failed["socket"]; n > 0 {
		iv.Notes = append(iv.Notes, outputs.Note{Column: "errors", Reason: "coarse", Current: strconv.FormatFloat(n, 'f', 0, 64), Detail: "socket errors and time-outs of the whole measured phase: wrk tells none a second"})
	}
	if err := j.row(last, iv); err != nil {
		return err
	}
	j.out.Phase("cooldown", r.end)
	if err := j.summarise(r, whole, failed); err != nil {
		return err
	}

	var counted counts
	for _, s := range rows {
		counted.add(s.counts)
	}
	good, answered := whole.Values["operations"], whole.Values["operations"]+failed["status"]
	sum := float64(counted.good + counted.bad)
	switch {
	case answered == 0:
		return fmt.Errorf("wrk: no request was answered in the measured phase%s", failures(failed))
	case good == 0:
		return fmt.Errorf("wrk: every answer was an error (4xx, 5xx)%s", failures(failed))
	case math.Abs(sum-answered) > agreement*answered:
		return fmt.Errorf("wrk: its script counted %.0f answers, wrk %.0f: the rows are wrong", sum, answered)
	}
	return j.judge(rows, good, failed, len(iv.Latencies) > 0)
}

// judge warns of what the figures hide, and refuses a run whose server went away.
func (j *job) judge(rows []span, good float64, failed map[string]float64, latencies bool) error {
	var silent, longest, run int64
	for _, s := range rows {
		if s.good+s.bad > 0 {
			run = 0
			continue
		}
		silent += s.end - s.begin
		run += s.end - s.begin
		longest = max(longest, run)
	}
	if run > 0 && failed["socket"] > failed["timeout"] {
		return fmt.Errorf("wrk: the server went away %v before the end%s", time.Duration(run).Round(time.Millisecond), failures(failed))
	}
	if silent > 0 {
		j.env.Warn(fmt.Errorf("wrk: no answer at all for %v of the measured phase (%v at a stretch): answers that took longer than the time-out of %v are in no latency, requests that were never answered are counted nowhere",
			time.Duration(silent).Round(time.Millisecond), time.Duration(longest).Round(time.Millisecond), j.w.Timeout))
	}
	if f := failures(failed); f != "" {
		j.env.Warn(fmt.Errorf("wrk: beside %.0f requests that went well%s", good, f))
	}
	if n := failed["timeout"]; n > 0 {
		j.env.Warn(fmt.Errorf("wrk: the latencies miss %.0f answers that took longer than the time-out of %v", n, j.w.Timeout))
	}
	if !latencies && failed["status"] == 0 {
		j.env.Warn(errors.New("wrk: what it added to its latencies could not be told from what it measured: there are only latency_corrected_*, in table summary"))
	}
	return nil
}

// failures returns what failed, to be appended to a sentence; "" if nothing did.
func failures(failed map[string]float64) string {
	var words []string
	for _, why := range errorCauses {
		if n := failed[why]; n > 0 {
			words = append(words, fmt.Sprintf("%s %.0f", why, n))
		}
	}
	if words == nil {
		return ""
	}
	return ": errors: " + strings.Join(words, ", ")
}

// errorCauses are wrk's own.
var errorCauses = []string{"connect", "read", "write", "timeout", "status"}

// merge returns what the processes say together, and the errors by cause; "socket" is
// the sum of all but status.
func merge(processes []*process) (whole outputs.Interval, failed map[string]float64) {
	failed = map[string]float64{}
	for _, p := range processes {
		for _, why := range errorCauses {
			n := p.figure("errors_" + why)
			failed[why] += n
			if why != "status" {
				failed["socket"] += n
			}
		}
	}
	if len(processes) == 1 {
		return processes[0].interval, failed
	}
	whole.Values = map[string]float64{}
	all := map[int64]int64{}
	known := true
	for _, p := range processes {
		whole.Values["operations"] += p.interval.Values["operations"]
		if p.figure("operations")+p.figure("errors_status") == 0 {
			continue // it had no answer, and so no latency that could be missing
		}
		known = known && len(p.interval.Latencies) > 0
		for _, b := range p.interval.Latencies {
			all[b.NS] += b.Count
		}
	}
	if !known || len(all) == 0 {
		for _, p := range processes {
			whole.Notes = append(whole.Notes, p.interval.Notes...)
		}
		return whole, failed
	}
	var n int64
	var sum float64
	for ns, c := range all {
		whole.Latencies = append(whole.Latencies, outputs.Bucket{NS: ns, Count: c})
		n += c
		sum += float64(ns) * float64(c)
	}
	slices.SortFunc(whole.Latencies, func(a, b outputs.Bucket) int { return int(a.NS - b.NS) })
	whole.Values["latency_mean_s"] = sum / float64(n) / 1e9
	for column, q := range quantiles {
		whole.Values[column] = float64(quantile(whole.Latencies, n, q)) / 1e9
	}
	if failed["timeout"] == 0 {
		whole.Values["latency_max_s"] = float64(whole.Latencies[len(whole.Latencies)-1].NS) / 1e9
	}
	return whole, failed
}

var quantiles = map[string]float64{"latency_p50_s": 0.5, "latency_p90_s": 0.9, "latency_p95_s": 0.95, "latency_p99_s": 0.99, "latency_p99_9_s": 0.999}

// quantile returns the least latency that at least q of the n in buckets don't exceed.
func quantile(buckets []outputs.Bucket, n int64, q float64) (ns int64) {
	rank := max(int64(math.Ceil(q*float64(n))), 1)
	for _, b := range buckets {
		if rank -= b.Count; rank <= 0 {
			return b.NS
		}
	}
	return ns
}

// summarise says the summary: each process's figures, and those of all together where
// there are several.
func (j *job) summarise(r *result, whole outputs.Interval, failed map[string]float64) error {
	source := driver
	if n := len(r.processes); n > 1 {
		length := r.end - r.begin
		say := func(metric, unit string, v float64) { j.out.Row(j.summary(r.end, length, driver, metric, unit, v)) }
		say("operations", unit, whole.Values["operations"])
		say("throughput", "1/s", whole.Values["operations"]/(float64(length)/1e9))
		say("errors", unit, failed["socket"]+failed["status"])
		for _, why := range errorCauses {
			say("errors_"+why, unit, failed[why])
		}
		var received float64
		for _, p := range r.processes {
			received += p.figure("received_bytes")
		}
		say("received_bytes", "B", received)
		for _, column := range slices.Sorted(maps.Keys(whole.Values)) {
			if name, ok := strings.CutSuffix(column, "_s"); ok {
				say(name, "s", whole.Values[column])
			}
		}
	}
	for i, p := range r.processes {
		if len(r.processes) > 1 {
			source = fmt.Sprintf("%s %d", driver, i+1)
		}
		end := p.begin + p.report.DurationNS
		rows, err := p.report.Rows(source, wallOf(end), end)
		if err != nil {
			return err
		}
		for _, row := range rows {
			j.out.Row(row)
		}
	}
	return nil
}

// pollRows are the rows of part "stub_status": what nginx itself counted between two
// polls that it answered.
type pollRows struct {
	*job
	last          reading
	polls, missed int64
	begun         bool
}

// run polls at every interval until ctx ends. While one is under way, those that are due
// are left out.
func (p *pollRows) run(ctx context.Context) {
	step := p.step()
	for {
		_, now := collector.Now()
		if !workload.SleepUntil(ctx, p.origin+((now-p.origin)/step+1)*step) {
			return
		}
		r, err := p.server.status.poll()
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.polls++
		switch {
		case err != nil:
			p.missed++
		case !p.begun:
			p.begun, p.last = true, r
		case r.bootNS > p.last.bootNS:
			iv := outputs.Interval{Part: "stub_status", ToNS: r.bootNS - p.last.bootNS, Values: map[string]float64{"operations": float64(r.requests - p.last.requests)}}
			rows, err := iv.Rows("nginx", unit, wallOf(r.bootNS), r.bootNS)
			if err != nil {
				p.env.Warn(err)
			}
			for _, row := range rows {
				p.out.Row(row)
			}
			p.last = r
		}
		p.mu.Unlock()
	}
}

// sum says how many polls were missed.
func (p *pollRows) sum(endNS int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.polls == 0 {
		return
	}
	p.out.Row(p.summary(endNS, endNS-p.origin, "stub_status", "polls_missed", "poll", float64(p.missed)))
	if p.missed > 0 {
		p.env.Warn(fmt.Errorf("wrk: %d of %d polls of nginx's stub_status were not answered within %v", p.missed, p.polls, pollTime))
	}
}
