package outputs

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Wrk reads the output of wrk 4, and the lines that two scripts of ours add to it:
// WRK_JSON (the whole histogram) and WRK_SEC (responses, or requests, of each thread in
// each second of the clock). It is a Parser. All it says it says at the end.
//
// The run is one interval, or one a second where there are WRK_SEC lines; of the first
// and the last second, which the run cuts, only the sum of their lengths is known, and
// is shared out as if the rate had been the same in both.
//
// wrk fills its histogram up: for each latency x of at least twice the mean time
// between a connection's requests, e, it adds x-e, x-2e, ... as latencies of requests
// that a server without the stall would have got (coordinated omission; stats_correct
// in stats.c). What it prints is of all of these: the figures latency_corrected_*. With
// WRK_JSON the addition is undone, since e is known, and checked: what remains must be
// exactly one latency for each response within the time-out. Only then there are
// latency_* figures and the interval's latencies.
//
// An operation is a response other than 4xx and 5xx. A response behind the time-out
// counts as an operation and as an error, and has no latency; a request without any
// response is counted nowhere.
type Wrk struct {
	started              bool
	url                  string
	threads, connections int64
	stats                []string // mean, deviation and maximum of the latencies, behind the line
	percentiles          []wrkPercentile
	requests             int64
	took, read           wrkQuantity // of the line "N requests in T, B read"
	rate, perSecond      string
	failures             map[string]int64
	dump                 *wrkDump
	seconds              map[int64]int64 // by second of the clock
	other                string          // what this is instead
}

type wrkPercentile struct{ percent, value string }

// wrkQuantity is a number with a unit, and half of its last digit.
type wrkQuantity struct{ value, error float64 }

// wrkDump is the line WRK_JSON.
type wrkDump struct {
	Summary struct {
		DurationUS int64            `json:"duration_us"`
		Requests   int64            `json:"requests"`
		Bytes      int64            `json:"bytes"`
		Errors     map[string]int64 `json:"errors"`
	} `json:"summary"`
	Latency struct {
		Mean        float64            `json:"mean"`
		Stdev       float64            `json:"stdev"`
		Max         int64              `json:"max"`
		Percentiles map[string]float64 `json:"percentiles"`
		Histogram   [][2]int64         `json:"histogram"`
	} `json:"latency_us"`
}

var (
	wrkRunning = regexp.MustCompile(`^Running \S+ test @ (.+)$`)
	wrkLoad    = regexp.MustCompile(`^  (\d+) threads and (\d+) connections$`)
	// The column of the maximum can be full, and then no blank stands before it.
	wrkStats    = regexp.MustCompile(`^    Latency +(-?[0-9.]+[a-zA-Z]*) +(-?[0-9.]+[a-zA-Z]*) *(-?[0-9.]+[a-zA-Z]*) +\S+$`)
	wrkPercent  = regexp.MustCompile(`^ +(\d+(?:\.\d+)?)% +(\S+)$`)
	wrkRequests = regexp.MustCompile(`^  (\d+) requests in (\S+), (\S+) read$`)
	wrkSocket   = regexp.MustCompile(`^  Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$`)
	wrkStatus   = regexp.MustCompile(`^  Non-2xx or 3xx responses: (\d+)$`)
	wrkSecond   = regexp.MustCompile(`^WRK_SEC (\d+) (\d+) (\d+)$`)
	wrkUnit     = regexp.MustCompile(`^(-?[0-9.]+)([a-zA-Z]*)$`)
	wrkFailures = []string{"connect", "read", "write", "timeout", "status"}
	wrkTimes    = map[string]float64{"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
	wrkBytes    = map[string]float64{"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
)

// wrkClock is by how many s the seconds of the clock may disagree with the duration.
const wrkClock = 0.001

// Line takes the next line.
func (w *Wrk) Line(line string) ([]Interval, error) {
	line = strings.TrimRight(line, " \r")
	var err error
	switch {
	case strings.HasPrefix(line, "Running "):
		if m := wrkRunning.FindStringSubmatch(line); m != nil {
			w.started, w.url = true, m[1]
		}
	case strings.HasPrefix(line, "Usage: wrk "):
		w.other = "wrk printed its usage: it did not run"
	case strings.Contains(line, "HdrHistogram - "):
		w.other = "output of wrk2, which is another tool"
	case !w.started:
	case wrkLoad.MatchString(line):
		m := wrkLoad.FindStringSubmatch(line)
		w.threads, _ = natural(m[1])
		w.connections, _ = natural(m[2])
	case strings.HasPrefix(line, "    Latency "):
		if w.stats = wrkStats.FindStringSubmatch(line); w.stats == nil {
			err = fmt.Errorf("want mean, deviation and maximum%s", comma(line))
		}
	case wrkPercent.MatchString(line):
		m := wrkPercent.FindStringSubmatch(line)
		w.percentiles = append(w.percentiles, wrkPercentile{m[1], m[2]})
	case strings.Contains(line, " requests in "):
		err = w.counted(line)
	case wrkSocket.MatchString(line):
		for k, v := range wrkSocket.FindStringSubmatch(line)[1:] {
			w.fail(wrkFailures[k], v)
		}
	case wrkStatus.MatchString(line):
		w.fail("status", wrkStatus.FindStringSubmatch(line)[1])
	case strings.HasPrefix(line, "Requests/sec:"):
		w.rate = strings.TrimSpace(strings.TrimPrefix(line, "Requests/sec:"))
		if v, ok := number(w.rate); !ok || !(v >= 0) {
			err = fmt.Errorf("field %q: want a number%s", short(w.rate), comma(w.rate))
		}
	case strings.HasPrefix(line, "Transfer/sec:"):
		w.perSecond = strings.TrimSpace(strings.TrimPrefix(line, "Transfer/sec:"))
	case strings.HasPrefix(line, "WRK_JSON "):
		w.dump = &wrkDump{}
		text, _ := repair([]byte(strings.TrimPrefix(line, "WRK_JSON ")))
		if err = json.Unmarshal(text, w.dump); err != nil {
			w.dump = nil
			line = "WRK_JSON"
		}
	case strings.HasPrefix(line, "WRK_SEC "):
		err = w.second(line)
	}
	if err != nil {
		err = fmt.Errorf("wrk: %q: %w", short(line), err)
	}
	return nil, err
}

func (w *Wrk) fail(why, n string) {
	if w.failures == nil {
		w.failures = map[string]int64{}
	}
	w.failures[why], _ = natural(n)
}

// counted takes the line "N requests in T, B read".
func (w *Wrk) counted(line string) error {
	m := wrkRequests.FindStringSubmatch(line)
	if m == nil {
		return errors.New("want N requests in TIME, SIZE read")
	}
	var ok, ok2, ok3 bool
	w.requests, ok = natural(m[1])
	w.took, ok2 = wrkNumber(m[2], wrkTimes)
	w.read, ok3 = wrkNumber(m[3], wrkBytes)
	if !ok || !ok2 || !ok3 || w.took.value <= 0 || w.read.value < 0 {
		return fmt.Errorf("want a number of requests, a time and a size%s", comma(m[2]))
	}
	return nil
}

// second takes a line of the per-second script.
func (w *Wrk) second(line string) error {
	m := wrkSecond.FindStringSubmatch(line)
	if m == nil {
		return errors.New("want WRK_SEC THREAD SECOND COUNT")
	}
	at, ok := natural(m[2])
	n, ok2 := natural(m[3])
	if !ok || !ok2 || at > latest || n > 1e12 {
		return errors.New("out of range")
	}
	if w.seconds == nil {
		w.seconds = map[int64]int64{}
	}
	w.seconds[at] += n
	return nil
}

// wrkNumber returns a number with one of the units, in the base unit.
func wrkNumber(field string, units map[string]float64) (wrkQuantity, bool) {
	m := wrkUnit.FindStringSubmatch(field)
	if m == nil {
		return wrkQuantity{}, false
	}
	v, ok := number(m[1])
	unit, ok2 := units[m[2]]
	if !ok || !ok2 {
		return wrkQuantity{}, false
	}
	_, decimals, _ := strings.Cut(m[1], ".")
	return wrkQuantity{v * unit, 0.5 * math.Pow(10, -float64(len(decimals))) * unit}, true
}

// latency returns a latency that wrk printed, in s, and what to know of it, as a
// sentence. known is false if it can't be trusted to be one.
func (w *Wrk) latency(field string) (s float64, known bool, notice string) {
	q, ok := wrkNumber(field, wrkTimes)
	switch {
	case ok && strings.HasSuffix(field, "m") && q.value >= 51*60:
		// From 51 minutes on wrk prints hours, so the column was too narrow for "ms".
		return q.value / 60 / 1000, true, fmt.Sprintf("latency %s is cut off by its column: read as milliseconds", field)
	case ok && q.value > 0:
		return q.value, true, ""
	case ok:
		return 0, false, "" // 0.00us: nothing was recorded
	}
	if _, plain := number(field); plain && !strings.HasSuffix(field, "nan") {
		return 0, false, fmt.Sprintf("latency %q has no unit: it is left out", field)
	}
	return 0, false, ""
}

// End returns the intervals and the report.
func (w *Wrk) End() ([]Interval, *Report, error) {
	switch {
	case w.other != "":
		return nil, nil, errors.New("wrk: " + w.other)
	case !w.started:
		return nil, nil, errors.New("wrk: nothing of wrk in it: want its line \"Running TIME test @ URL\"")
	}
	r := newReport("request")
	if u, err := url.Parse(w.url); err == nil { // without what may be secret
		r.Params["url"] = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	if w.threads > 0 {
		r.Params["threads"], r.Params["connections"] = w.threads, w.connections
	}
	if w.rate == "" || w.perSecond == "" || w.took.value == 0 {
		r.Failed = append(r.Failed, "there is no result: wrk was killed, or its output is cut off")
		return nil, r, nil
	}
	duration, err := w.duration()
	if err != nil {
		return nil, nil, err
	}
	r.DurationNS, _ = seconds(duration)

	var socket int64
	for _, why := range wrkFailures[:4] {
		socket += w.failures[why]
	}
	status := w.failures["status"]
	good := w.requests - status
	if good < 0 {
		return nil, nil, fmt.Errorf("wrk: %d responses of %d requests are errors: the output is not as wrk wrote it", status, w.requests)
	}
	bytes := w.read.value
	if w.dump != nil {
		bytes = float64(w.dump.Summary.Bytes)
	}
	r.figure("operations", whole, r.Unit, float64(good), 0)
	r.figure("throughput", whole, "1/s", float64(good)/duration, 0)
	r.figure("errors", whole, r.Unit, float64(socket+status), 0)
	for _, why := range wrkFailures {
		r.figure("errors_"+why, whole, r.Unit, float64(w.failures[why]), 0)
	}
	r.figure("received_bytes", whole, "B", bytes, 0)

	iv := Interval{ToNS: r.DurationNS}
	iv.set("operations", float64(good))
	iv.set("errors", float64(socket+status))
	iv.set("received_bytes", bytes)
	w.latencies(r, &iv)
	if socket+status > 0 {
		r.warn("%s of %d requests failed (connect %d, read %d, write %d, timeout %d, status %d)", share(socket+status, w.requests+socket), w.requests+socket,
			w.failures["connect"], w.failures["read"], w.failures["write"], w.failures["timeout"], status)
	}
	if n := w.failures["timeout"]; n > 0 {
		r.warn("the latencies miss %d responses behind the time-out", n)
	}
	if good == 0 {
		why := "no request was answered"
		if w.requests > 0 {
			why = "every response was an error (4xx, 5xx)"
		}
		r.Failed = append(r.Failed, why)
	}
	if out := w.perSecondRows(r, &iv); out != nil {
		return out, r, nil
	}
	return []Interval{iv}, r, nil
}

// share prints a part as a percentage.
func share(part, all int64) string {
	return strconv.FormatFloat(100*float64(part)/float64(all), 'g', 3, 64) + " %"
}

// duration returns how long the run was, in s. The time is printed with two decimals,
// the rate too: the one of which that is less tells it better.
func (w *Wrk) duration() (float64, error) {
	rate, _ := number(w.rate)
	took := w.took
	if w.dump != nil && w.dump.Summary.DurationUS > 0 {
		took.value, took.error = float64(w.dump.Summary.DurationUS)/1e6, 1e-6
	}
	if rate > 0 && w.requests > 0 {
		told := float64(w.requests) / rate
		off := told * 0.005 / rate
		if math.Abs(told-w.took.value) > 1.01*(w.took.error+off) || math.Abs(told-took.value) > 1.01*(took.error+off) {
			return 0, fmt.Errorf("wrk: %d requests at %s a second take %.2f s, and it says %.2f s: the output is not as wrk wrote it", w.requests, w.rate, told, took.value)
		}
		if off < took.error {
			return told, nil
		}
	}
	return took.value, nil
}

// latencies takes what wrk says of latencies into the report, and what is exact into the
// interval.
func (w *Wrk) latencies(r *Report, iv *Interval) {
	var recorded int64
	var corrected, plain []Bucket
	if w.dump != nil {
		corrected = w.histogram(r)
		recorded = total(corrected)
		plain = w.uncorrected(corrected)
	}
	var largest, most float64 // the largest percentile, the maximum
	add := func(metric, field string, exact float64) (v float64) {
		v, known, notice := w.latency(field)
		if notice != "" {
			r.warn("%s: %s", metric, notice)
		}
		if exact > 0 {
			v, known = exact, true
		}
		if !known {
			return 0
		}
		r.figure(metric, whole, "s", v, recorded)
		return v
	}
	exact := func(us float64) float64 {
		if w.dump == nil || recorded == 0 {
			return 0
		}
		return us / 1e6
	}
	d := w.dump
	if d == nil {
		d = &wrkDump{}
	}
	if m := w.stats; m != nil {
		if add("latency_corrected_mean", m[1], exact(d.Latency.Mean)) > 0 && len(corrected) > 0 {
			r.Figures[len(r.Figures)-1].Latencies = corrected
		}
		add("latency_corrected_stdev", m[2], exact(d.Latency.Stdev))
		most = add("latency_max", m[3], exact(float64(d.Latency.Max)))
	}
	percentiles := w.percentiles
	if recorded > 0 { // the dump has more of them
		percentiles = nil
		for _, p := range []string{"50", "75", "90", "95", "99", "99.9", "99.99"} {
			if d.Latency.Percentiles[p] > 0 {
				percentiles = append(percentiles, wrkPercentile{p, ""})
			}
		}
	}
	for _, p := range percentiles {
		largest = max(largest, add("latency_corrected_p"+strings.ReplaceAll(p.percent, ".", "_"), p.value, exact(d.Latency.Percentiles[p.percent])))
	}
	if most > 0 && largest > 1.01*most {
		r.warn("a percentile (%.4g s) is above the maximum (%.4g s): one of them is wrong", largest, most)
	}
	if most == 0 && largest == 0 {
		return
	}
	switch {
	case plain != nil:
		n := total(plain)
		var sum float64
		for _, b := range plain {
			sum += float64(b.NS) * float64(b.Count)
		}
		mean := sum / float64(n) / 1e9
		r.figure("latency_mean", whole, "s", mean, n).Latencies = plain
		values := map[string]float64{}
		for _, q := range []struct {
			name string
			q    float64
		}{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99_9", 0.999}} {
			v := quantile(plain, n, q.q)
			r.figure("latency_"+q.name, whole, "s", v, n)
			values["latency_"+q.name+"_s"] = v
		}
		r.warn("wrk added %d latencies to the %d it measured (latency_corrected_*): the addition was undone (latency_*)", recorded-n, n)
		if w.failures["status"] > 0 {
			iv.note("latency_hist", "absent", "", "the latencies are those of all responses, 4xx and 5xx among them: those of the operations alone are unknown")
			return
		}
		for column, v := range values {
			iv.set(column, v)
		}
		iv.set("latency_mean_s", mean)
		iv.Latencies = plain
	default:
		r.warn("wrk's latencies are of requests that it measured and of ones that it added (coordinated omission): they stand as latency_corrected_*, and compare with nothing else")
		iv.note("latency_hist", "absent", "", "wrk tells only percentiles of measured and added latencies together: they are in table summary, as latency_corrected_*")
	}
	switch {
	case w.failures["status"] > 0:
	case w.failures["timeout"] > 0:
		iv.note("latency_max_s", "absent", strconv.FormatFloat(most, 'g', -1, 64), "responses behind the time-out took longer, and have no latency")
	case most > 0:
		iv.set("latency_max_s", most)
	}
}

// histogram returns the buckets of WRK_JSON, nil if they are none.
func (w *Wrk) histogram(r *Report) []Bucket {
	var out []Bucket
	var n int64
	for _, b := range w.dump.Latency.Histogram {
		if b[0] < 0 || b[0] > 1e12 || b[1] <= 0 || b[1] > 1e15 || n+b[1] > 1e15 || len(out) > 0 && b[0]*1000 <= out[len(out)-1].NS {
			r.warn("the histogram of WRK_JSON is none: it is left out")
			return nil
		}
		n += b[1]
		out = append(out, Bucket{b[0] * 1000, b[1]})
	}
	return out
}

// uncorrected takes wrk's additions out of its histogram. Nil if what remains is not one
// latency for each response within the time-out: then they were made in another way.
func (w *Wrk) uncorrected(corrected []Bucket) []Bucket {
	s := &w.dump.Summary
	recorded := s.Requests - s.Errors["timeout"]
	if len(corrected) == 0 || recorded <= 0 || w.connections <= 0 {
		return nil
	}
	if s.Requests < w.connections { // then wrk adds none
		if total(corrected) != recorded {
			return nil
		}
		return corrected
	}
	step := s.DurationUS / (s.Requests / w.connections) * 1000
	if step <= 0 {
		return nil
	}
	// wrk goes upwards and adds below, so from above all that is left at a latency was
	// measured, but for what those a multiple of e above it added.
	plain := slices.Clone(corrected)
	added := map[int64]int64{} // by remainder of e: how many were added at each place below
	last := map[int64]int64{}  // the place before
	for k := len(plain) - 1; k >= 0 && plain[k].NS > step; k-- {
		x := plain[k].NS
		r := x % step
		if n := added[r]; n > 0 {
			if x != last[r]-step || plain[k].Count < n {
				return nil
			}
			plain[k].Count -= n
		}
		added[r] += plain[k].Count
		last[r] = x
	}
	for r, x := range last {
		if added[r] > 0 && x > 2*step { // it added further down
			return nil
		}
	}
	plain = slices.DeleteFunc(plain, func(b Bucket) bool { return b.Count == 0 })
	if total(plain) != recorded {
		return nil
	}
	return plain
}

// perSecondRows returns an interval a second of the clock, nil if the lines WRK_SEC don't
// tell them.
func (w *Wrk) perSecondRows(r *Report, all *Interval) []Interval {
	if len(w.seconds) == 0 {
		return nil
	}
	var first, last int64 = math.MaxInt64, 0
	var sum int64
	for at, n := range w.seconds {
		first, last = min(first, at), max(last, at)
		sum += n
	}
	n := last - first + 1
	duration := float64(r.DurationNS) / 1e9
	ends := duration - float64(n-2) // the first and the last, together
	switch {
	case n > 1e6:
		r.warn("the seconds of the clock (WRK_SEC) are %d apart: they are left out", n)
		return nil
	case w.failures["status"] > 0:
		r.warn("the seconds (WRK_SEC) count 4xx and 5xx too: they are left out")
		return nil
	case sum-w.requests > w.connections || w.requests-sum > w.connections:
		r.warn("the seconds (WRK_SEC) count %d requests, wrk %d: they are left out", sum, w.requests)
		return nil
	case n > 1 && (ends <= 0 || ends > 2+wrkClock), n == 1 && duration > 1+wrkClock:
		r.warn("%d seconds of the clock (WRK_SEC) can't be %.2f s: they are left out", n, duration)
		return nil
	}
	if sum != w.requests {
		r.warn("the seconds count requests sent: %d of %d were not answered", sum-w.requests, sum)
	}
	// The first second is cut at its beginning, the last at its end.
	head := duration
	if n > 1 {
		a, b := float64(w.seconds[first]), float64(w.seconds[last])
		head = ends * a / max(a+b, 1)
		head = min(max(head, ends-1, 0), 1, ends)
		r.warn("the run cuts its first and last second: they are %.3f s together, which their counts share out", ends)
	}
	r.Start = time.Unix(first+1, 0).Add(-time.Duration(head * 1e9)).UTC()
	var out []Interval
	var from int64
	for at := first; at <= last; at++ {
		to := int64(math.Round((head + float64(at-first)) * 1e9))
		if at == last {
			to = r.DurationNS
		}
		if to <= from { // an end of no length
			continue
		}
		iv := Interval{FromNS: from, ToNS: to}
		iv.set("operations", float64(w.seconds[at]))
		out = append(out, iv)
		from = to
	}
	out[0].note("latency_hist", "absent", "", "wrk tells latencies of the whole run only: they are in table summary")
	errs := all.Values["errors"]
	if errs == 0 {
		for k := range out {
			out[k].set("errors", 0)
		}
	} else {
		out[0].note("errors", "absent", strconv.FormatFloat(errs, 'f', 0, 64), "wrk counts errors over the whole run: those of a second are unknown")
	}
	return out
}
