package outputs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/steadybench/steady/schemas"
)

// Iperf3 reads the output of iperf3: text (live with --forceflush), a document (-J), or
// a line of JSON an event (--json-stream, from 3.17 on), of a client or a server. It is
// a Parser. An interval is the sum over the streams of a direction; the unit is bit.
//
// Of one direction the part is "": for TCP what this end sent or received, for UDP what
// was received. A client that sends UDP doesn't know that until the end: the part "send"
// has what it sent in each interval, and the part "" one interval of the whole test. Of
// --bidir the parts are "send" and "receive".
//
// Omitted seconds (-O) are the phase warmup, the others the phase measure, behind them in
// time. iperf3 3.12 gives the first measured interval a wrong start and length: it runs
// from the end of the omitted seconds. An interval that is printed again, as when the
// server dies, counts once.
type Iperf3 struct {
	form      iperf3Form
	document  bytes.Buffer
	repaired  bool
	start     iperf3Start
	end       *iperf3End
	errors    []string
	notes     []Note
	text      iperf3Text
	omittedS  float64               // end of the omitted intervals
	measured  bool                  // there were others
	last      map[string][2]float64 // bounds of the last interval, by part
	bits      map[string]float64    // of the measured intervals, by part
	sends     map[string]bool       // whether a part is what this end sent
	durations float64               // end of the last interval, omitted ones before it
}

type iperf3Form int

const (
	iperf3Unknown iperf3Form = iota
	iperf3Plain
	iperf3Document
	iperf3Stream
)

type iperf3Start struct {
	Version    string `json:"version"`
	SystemInfo string `json:"system_info"`
	Timestamp  struct {
		Seconds float64 `json:"timesecs"`
	} `json:"timestamp"`
	Test struct {
		Protocol string  `json:"protocol"`
		Streams  float64 `json:"num_streams"`
		Block    float64 `json:"blksize"`
		Omit     float64 `json:"omit"`
		Duration float64 `json:"duration"`
		Reverse  float64 `json:"reverse"`
		Bitrate  float64 `json:"target_bitrate"`
	} `json:"test_start"`
}

// iperf3Sum is what iperf3 says of the streams of a direction in an interval, or in all.
type iperf3Sum struct {
	Start       float64  `json:"start"`
	End         float64  `json:"end"`
	Seconds     float64  `json:"seconds"`
	Bytes       *float64 `json:"bytes"`
	Rate        *float64 `json:"bits_per_second"`
	Retransmits *float64 `json:"retransmits"`
	JitterMS    *float64 `json:"jitter_ms"`
	Lost        *float64 `json:"lost_packets"`
	Packets     *float64 `json:"packets"`
	Omitted     bool     `json:"omitted"`
	Sender      *bool    `json:"sender"`
}

type iperf3Interval struct {
	Streams []iperf3Sum `json:"streams"`
	Sum     *iperf3Sum  `json:"sum"`
	Reverse *iperf3Sum  `json:"sum_bidir_reverse"`
}

type iperf3End struct {
	Sum             *iperf3Sum         `json:"sum"` // UDP
	Sent            *iperf3Sum         `json:"sum_sent"`
	Received        *iperf3Sum         `json:"sum_received"`
	ReverseSent     *iperf3Sum         `json:"sum_sent_bidir_reverse"`
	ReverseReceived *iperf3Sum         `json:"sum_received_bidir_reverse"`
	CPU             map[string]float64 `json:"cpu_utilization_percent"`
	SenderTCP       string             `json:"sender_tcp_congestion"`
	ReceiverTCP     string             `json:"receiver_tcp_congestion"`
}

// iperf3Text is what the lines of text tell beside the figures.
type iperf3Text struct {
	connected, headers   int
	bidir, reverse, done bool
	server, udp, sends   bool
	theirs               bool // what follows is the server's (--get-server-output)
}

var (
	iperf3Line    = regexp.MustCompile(`\[ *(\d+|SUM)\](?:\[([TR]X)-[CS]\])? +(\d+\.\d+)- *(\d+\.\d+) +sec +(\d+(?:\.\d+)?) ([KMGT]?)Bytes +(\d+(?:\.\d+)?) ([KMGT]?)(bits|Bytes)/sec(.*)$`)
	iperf3Half    = regexp.MustCompile(`\[ *(\d+|SUM)\].* sec `)
	iperf3Streams = regexp.MustCompile(`\[ *\d+\] local \S+ port \d+ connected to `)
	iperf3Jitter  = regexp.MustCompile(`^(-?[0-9.]+|-?nan) ms +(-?\d+|Unknown)/(-?\d+)`)
	iperf3Test    = regexp.MustCompile(`^Starting Test: protocol: (\w+), (\d+) streams, (\d+) byte blocks, omitting (\d+) seconds`)
)

// Line takes the next line. Of a document nothing is returned before its end.
func (p *Iperf3) Line(line string) ([]Interval, error) {
	if p.form == iperf3Unknown {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, `{"event"`):
			p.form = iperf3Stream
		case strings.HasPrefix(trimmed, "{"):
			p.form = iperf3Document
		case strings.HasPrefix(trimmed, "Connecting to host "), strings.Contains(line, "Accepted connection from "), iperf3Streams.MatchString(line):
			p.form = iperf3Plain
		}
	}
	switch p.form {
	case iperf3Document:
		p.document.WriteString(line)
		p.document.WriteByte('\n')
		return nil, nil
	case iperf3Stream:
		return p.event(line)
	}
	return p.plain(strings.TrimRight(line, " \r"))
}

// event takes a line of --json-stream.
func (p *Iperf3) event(line string) ([]Interval, error) {
	text, repaired := repair(bytes.TrimSpace([]byte(line)))
	p.repaired = p.repaired || repaired
	if len(text) == 0 || p.end != nil { // with --json-stream-full-output the document comes too
		return nil, nil
	}
	var e struct {
		Event string          `json:"event"`
		Data  json.RawMessage `json:"data"`
	}
	err := json.Unmarshal(text, &e)
	var iv iperf3Interval
	if err == nil {
		switch e.Event {
		case "start":
			err = json.Unmarshal(e.Data, &p.start)
		case "interval":
			if err = json.Unmarshal(e.Data, &iv); err == nil {
				return p.interval(&iv)
			}
		case "end":
			p.end = &iperf3End{}
			err = json.Unmarshal(e.Data, p.end)
		case "error":
			var why string
			err = json.Unmarshal(e.Data, &why)
			p.errors = append(p.errors, told(why))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("iperf3: %q: %w", short(line), err)
	}
	return nil, nil
}

// decode reads the document. What stands before an error is kept.
func (p *Iperf3) decode() ([]Interval, error) {
	text, repaired := repair(bytes.TrimRight(p.document.Bytes(), "\n"))
	p.repaired = repaired
	d := json.NewDecoder(bytes.NewReader(text))
	var intervals []iperf3Interval
	err := p.members(d, &intervals)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("iperf3: the document is cut off at byte %d", len(text))
	case err != nil:
		err = fmt.Errorf("iperf3: byte %d: %w", d.InputOffset(), err)
	}
	var out []Interval
	for k := range intervals { // their meaning depends on start, wherever it stood
		ivs, bad := p.interval(&intervals[k])
		out = append(out, ivs...)
		if bad != nil {
			return out, bad
		}
	}
	return out, err
}

// members reads the members of the document, the intervals one by one.
func (p *Iperf3) members(d *json.Decoder, intervals *[]iperf3Interval) error {
	if _, err := d.Token(); err != nil { // {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "start":
			err = d.Decode(&p.start)
		case "end":
			var end iperf3End
			if err = d.Decode(&end); err == nil {
				p.end = &end
			}
		case "error":
			var why string
			if err = d.Decode(&why); err == nil {
				p.errors = append(p.errors, told(why))
			}
		case "intervals":
			var t json.Token
			if t, err = d.Token(); err == nil && t != json.Delim('[') {
				err = errors.New("intervals: want an array")
			}
			for err == nil && d.More() {
				var iv iperf3Interval
				if err = d.Decode(&iv); err == nil {
					*intervals = append(*intervals, iv)
				}
			}
			if err == nil {
				_, err = d.Token() // ]
			}
		default:
			var skip json.RawMessage
			err = d.Decode(&skip)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.Token() // }
	return err
}

func value(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// interval forms the intervals of an object of intervals[].
func (p *Iperf3) interval(x *iperf3Interval) (out []Interval, err error) {
	sums := []*iperf3Sum{x.Sum}
	if x.Sum == nil {
		sums = nil
		for k := range x.Streams {
			sums = addTo(sums, &x.Streams[k])
		}
	}
	if x.Reverse != nil {
		sums = append(sums, x.Reverse)
	}
	bidir := x.Reverse != nil || len(sums) > 1
	udp := p.start.Test.Protocol == "UDP"
	for k, sum := range sums {
		sends := k == 0 && p.start.Test.Reverse == 0
		if sum.Sender != nil {
			sends = *sum.Sender
		}
		iv, err := p.one(sum, sends, bidir, udp)
		if err != nil {
			return out, err
		}
		if iv != nil {
			out = append(out, *iv)
		}
	}
	return out, nil
}

// addTo adds a stream to the sum of its direction.
func addTo(sums []*iperf3Sum, s *iperf3Sum) []*iperf3Sum {
	for _, t := range sums {
		if (t.Sender == nil) != (s.Sender == nil) || t.Sender != nil && *t.Sender != *s.Sender {
			continue
		}
		add := func(a **float64, b *float64) {
			if *a != nil && b != nil {
				v := **a + *b
				*a = &v
			} else {
				*a = nil
			}
		}
		add(&t.Bytes, s.Bytes)
		add(&t.Retransmits, s.Retransmits)
		add(&t.Lost, s.Lost)
		add(&t.Packets, s.Packets)
		t.JitterMS = nil // of each stream its own
		return sums
	}
	t := *s
	return append(sums, &t)
}

// one forms the interval of a direction; nil if it was there before.
func (p *Iperf3) one(x *iperf3Sum, sends, bidir, udp bool) (*Interval, error) {
	part := ""
	switch {
	case bidir && sends, !bidir && sends && udp:
		part = "send"
	case bidir:
		part = "receive"
	}
	if p.last == nil {
		p.last, p.bits, p.sends = map[string][2]float64{}, map[string]float64{}, map[string]bool{}
	}
	iv := &Interval{Part: part}
	from, to, shift := x.Start, x.End, 0.0
	if !x.Omitted {
		shift = p.shift()
		if _, others := p.bits[part]; shift > 0 && !others {
			// The first behind omitted seconds: it began when they ended.
			if from = 0; x.Seconds > 0 && math.Abs(x.Seconds-to) > 0.01*to {
				iv.note("", "repaired", fmt.Sprintf("%g-%g, %g s", x.Start, x.End, x.Seconds), fmt.Sprintf("iperf3 tells the first interval behind omitted seconds wrongly: it took the %g s from their end on", to))
			}
		}
	}
	from, to = from+shift, to+shift
	last, others := p.last[part]
	switch {
	case !others || from >= last[1]:
	case from == last[0] && to == last[1]:
		p.notes = append(p.notes, Note{Reason: "repaired", Detail: fmt.Sprintf("the interval %g-%g s was printed again: it counts once", x.Start, x.End)})
		return nil, nil
	case from > last[1]-0.02: // ends are rounded
		from = last[1]
	default:
		return nil, fmt.Errorf("iperf3: interval %g-%g s behind one that ended at %g s: of another test? each begins with its line \"Connecting to host\" or {", x.Start, x.End, last[1]-shift)
	}
	fromNS, ok := seconds(from)
	toNS, ok2 := seconds(to)
	if !ok || !ok2 || toNS <= fromNS {
		return nil, fmt.Errorf("iperf3: interval %g-%g s: want one that takes time", x.Start, x.End)
	}
	iv.FromNS, iv.ToNS = fromNS, toNS
	p.last[part] = [2]float64{from, to}
	p.durations = max(p.durations, to)
	p.sends[part] = sends
	if x.Omitted {
		p.omittedS = max(p.omittedS, to)
	} else {
		p.measured = true
		p.bits[part] += 8 * value(x.Bytes)
	}
	p.values(iv, x, sends)
	return iv, nil
}

// shift is how long the measured seconds' time 0 is behind that of the omitted ones.
func (p *Iperf3) shift() float64 {
	if p.omittedS == 0 {
		return 0
	}
	return max(p.omittedS, p.start.Test.Omit)
}

// huge is from where on a count is no count: iperf3 prints some that fell below 0 as
// 2^64 less so many.
const huge = 1 << 60

// values sets an interval's columns.
func (p *Iperf3) values(iv *Interval, x *iperf3Sum, sends bool) {
	for _, v := range []struct {
		column string
		value  *float64
		factor float64
	}{{"operations", x.Bytes, 8}, {"retransmits", x.Retransmits, 1}, {"packets", x.Packets, 1}, {"lost", x.Lost, 1}, {"jitter_s", x.JitterMS, 1e-3}} {
		switch {
		case v.value == nil:
		case math.Abs(*v.value) >= huge, *v.value < 0 && v.column != "lost":
			iv.note(v.column, "impossible", strconv.FormatFloat(*v.value, 'f', -1, 64), "no such amount: it is unknown")
		default:
			iv.set(v.column, *v.value*v.factor)
		}
	}
	if bits, ok := iv.Values["operations"]; ok && !sends {
		iv.set("received_bytes", bits/8)
	}
	if iv.Values["lost"] < 0 {
		iv.note("lost", "retreat", strconv.FormatFloat(iv.Values["lost"], 'f', -1, 64), "kept below 0: datagrams that counted as lost in an earlier interval came late")
	}
}

// plain takes a line of text.
func (p *Iperf3) plain(line string) ([]Interval, error) {
	t := &p.text
	switch {
	case strings.HasPrefix(line, "iperf 3."):
		p.start.Version = line
	case strings.HasPrefix(line, "iperf3: "): // on standard error, often put into the same file
		p.errors = append(p.errors, told(strings.TrimPrefix(strings.TrimPrefix(line, "iperf3: "), "error - ")))
	case strings.HasPrefix(line, "Time: "):
		if at, err := time.Parse(time.RFC1123, strings.TrimPrefix(line, "Time: ")); err == nil {
			p.start.Timestamp.Seconds = float64(at.Unix())
		}
	case iperf3Test.MatchString(line):
		m := iperf3Test.FindStringSubmatch(line)
		p.start.Test.Protocol = m[1]
		p.start.Test.Streams, _ = number(m[2])
		p.start.Test.Block, _ = number(m[3])
		p.start.Test.Omit, _ = number(m[4])
	case strings.HasPrefix(line, "Reverse mode, remote host "):
		t.reverse = true
	case strings.Contains(line, "iperf Done."):
		t.done = true
	case strings.HasPrefix(line, "Server output:"):
		t.theirs = true
	case t.theirs:
	case strings.Contains(line, "Accepted connection from "):
		t.server = true
	case iperf3Streams.MatchString(line):
		t.connected++
	case strings.Contains(line, "[ ID]"):
		t.headers++
		if t.headers == 1 {
			t.bidir = strings.Contains(line, "[Role]")
			t.udp = strings.Contains(line, "Datagrams")
			t.sends = !t.reverse
			if t.server {
				t.sends = strings.Contains(line, "Retr") || t.udp && !strings.Contains(line, "Jitter")
			}
		}
	case iperf3Line.MatchString(line):
		return p.figures(iperf3Line.FindStringSubmatch(line), line)
	case iperf3Half.MatchString(line) && !strings.Contains(line, "datagrams received"):
		return nil, fmt.Errorf("iperf3: %q: no whole interval line%s", short(line), comma(line))
	}
	return nil, nil
}

// figures takes a line with figures of an interval, or of the whole test.
func (p *Iperf3) figures(m []string, line string) ([]Interval, error) {
	t := &p.text
	streams := t.connected
	if t.bidir {
		streams /= 2
	}
	if streams == 0 {
		return nil, fmt.Errorf("iperf3: %q: without the lines that say which streams there are: the beginning is cut off", short(line))
	}
	if (m[1] == "SUM") != (streams > 1) {
		return nil, nil // a stream of several
	}
	x := &iperf3Sum{}
	x.Start, _ = number(m[3])
	x.End, _ = number(m[4])
	x.Seconds = x.End - x.Start
	size, ok := number(m[5])
	rate, ok2 := number(m[7])
	if !ok || !ok2 {
		return nil, fmt.Errorf("iperf3: %q: want numbers", short(line))
	}
	size *= iperf3Scale(m[6], 1024)
	if m[9] == "Bytes" {
		rate *= 8 * iperf3Scale(m[8], 1024)
	} else {
		rate *= iperf3Scale(m[8], 1000)
	}
	x.Bytes, x.Rate = &size, &rate
	sends := t.sends
	if t.bidir {
		sends = m[2] == "TX"
	}
	rest := strings.TrimSpace(m[10])
	if rest, x.Omitted = strings.CutSuffix(rest, "(omitted)"); x.Omitted {
		rest = strings.TrimSpace(rest)
	}
	rest, sender := strings.CutSuffix(rest, "sender")
	rest, receiver := strings.CutSuffix(rest, "receiver")
	p.counts(x, strings.TrimSpace(rest), t.udp)
	if sender || receiver || t.headers > 1 {
		p.totals(x, sender || !receiver && sends, t.bidir && m[2] == "RX")
		return nil, nil
	}
	iv, err := p.one(x, sends, t.bidir, t.udp)
	if iv == nil {
		return nil, err
	}
	return []Interval{*iv}, nil
}

// iperf3Scale returns the factor of a prefix: of sizes and rates in bytes powers of
// 1024, of rates in bits powers of 1000 (units.c).
func iperf3Scale(prefix string, base float64) float64 {
	if prefix == "" {
		return 1
	}
	return math.Pow(base, float64(1+strings.Index("KMGT", prefix)))
}

// counts takes what stands behind the rate: retransmissions and the window, or
// datagrams.
func (p *Iperf3) counts(x *iperf3Sum, rest string, udp bool) {
	if m := iperf3Jitter.FindStringSubmatch(rest); m != nil {
		for k, dst := range []**float64{&x.JitterMS, &x.Lost, &x.Packets} {
			if v, ok := number(m[k+1]); ok && !math.IsNaN(v) {
				*dst = &v
			}
		}
		return
	}
	first, _, _ := strings.Cut(rest, " ")
	v, ok := natural(first)
	if !ok {
		return
	}
	f := float64(v)
	if udp {
		x.Packets = &f
	} else {
		x.Retransmits = &f
	}
}

// totals keeps a line about the whole test.
func (p *Iperf3) totals(x *iperf3Sum, sent, reverse bool) {
	if p.end == nil {
		p.end = &iperf3End{}
	}
	switch {
	case sent && reverse:
		p.end.ReverseSent = x
	case sent:
		p.end.Sent = x
	case reverse:
		p.end.ReverseReceived = x
	default:
		p.end.Received = x
	}
}

// End returns the intervals and the report.
func (p *Iperf3) End() (out []Interval, r *Report, err error) {
	var damage error
	if p.form == iperf3Document {
		out, damage = p.decode()
		if damage == nil && p.start.Version == "" && len(out) == 0 && len(p.errors) == 0 && p.end == nil {
			return nil, nil, errors.New("iperf3: a document of something else: want start, intervals and end")
		}
	}
	if p.form == iperf3Unknown && len(p.errors) == 0 {
		return nil, nil, errors.New("iperf3: nothing of iperf3 in it: want its document (-J), events (--json-stream) or its line \"Connecting to host\"")
	}
	r = newReport("bit")
	p.identity(r)
	if p.repaired {
		p.notes = append(p.notes, Note{Reason: "repaired", Detail: "the JSON held nan or inf, which JSON has not: these are unknown"})
	}
	r.Notes = p.notes
	r.DurationNS, _ = seconds(p.durations)
	if p.form == iperf3Plain && p.durations > 0 {
		r.warn("text tells times to 0.01 s and sizes to three digits: -J tells them exactly")
	}
	phase := whole
	if shift := p.shift(); shift > 0 {
		phase = "measure"
		shiftNS, _ := seconds(shift)
		r.Phases = []schemas.Phase{{Name: "warmup", ToNS: min(shiftNS, r.DurationNS)}}
		if shiftNS < r.DurationNS {
			r.Phases = append(r.Phases, schemas.Phase{Name: phase, FromNS: shiftNS, ToNS: r.DurationNS})
		}
	}
	if iv := p.summary(r, phase); iv != nil {
		out = append(out, *iv)
	}
	switch {
	case len(p.errors) > 0 && !p.measured:
		r.Failed = append(r.Failed, p.errors[0])
	case len(p.errors) > 0:
		r.Incomplete = append(r.Incomplete, p.errors[0])
	case !p.measured:
		r.Failed = append(r.Failed, "there is no result")
	case damage != nil:
	case p.end == nil, p.form == iperf3Plain && !p.text.done && !p.text.server:
		r.Incomplete = append(r.Incomplete, "the test did not end: iperf3 was killed, or lost its server")
	}
	return out, r, damage
}

// identity takes what is known of the tool and the load.
func (p *Iperf3) identity(r *Report) {
	s := &p.start
	if s.Version != "" {
		r.Facts["iperf3.version"] = short(strings.TrimPrefix(s.Version, "iperf "))
	}
	if s.SystemInfo != "" {
		r.Facts["iperf3.system"] = told(s.SystemInfo)
		if f := strings.Fields(s.SystemInfo); len(f) > 1 { // as uname -a
			r.Host = short(f[1])
		}
	}
	if at := s.Timestamp.Seconds; at > 0 && at < latest {
		r.Start = time.Unix(int64(at), 0).UTC()
	}
	set := func(name string, v float64) {
		if v > 0 && v < huge {
			r.Params[name] = v
		}
	}
	switch t := &p.text; {
	case s.Test.Protocol != "":
		r.Params["protocol"] = short(s.Test.Protocol)
	case t.headers > 0 && t.udp:
		r.Params["protocol"] = "UDP"
	case t.headers > 0:
		r.Params["protocol"] = "TCP"
	}
	streams := s.Test.Streams
	if streams == 0 {
		streams = float64(p.text.connected)
		if p.text.bidir {
			streams /= 2
		}
	}
	set("streams", streams)
	set("block_bytes", s.Test.Block)
	set("omit_s", s.Test.Omit)
	set("duration_s", s.Test.Duration)
	set("target_bits_per_s", s.Test.Bitrate)
	if s.Test.Reverse != 0 || p.text.reverse {
		r.Params["reverse"] = true
	}
	if p.bidir() {
		r.Params["bidir"] = true
	}
	if p.end != nil {
		for name, v := range map[string]string{"iperf3.sender_tcp_congestion": p.end.SenderTCP, "iperf3.receiver_tcp_congestion": p.end.ReceiverTCP} {
			if v != "" {
				r.Facts[name] = short(v)
			}
		}
	}
}

// summary takes the totals into the report. It returns the interval of the whole test
// where no other tells what arrived.
func (p *Iperf3) summary(r *Report, phase string) *Interval {
	e := p.end
	if e == nil {
		return nil
	}
	p.direction(r, phase, "", e.Sent, e.Received, "", "send")
	p.direction(r, phase, "reverse_", e.ReverseSent, e.ReverseReceived, "receive")
	for _, c := range [][2]string{{"host_total", "cpu_host_pct"}, {"remote_total", "cpu_remote_pct"}} {
		if v := e.CPU[c[0]]; v > 0 { // 0: the other end did not say
			r.figure(c[1], phase, "%", v, 0)
		}
	}
	if _, sent := p.last["send"]; p.durations > 0 && (!sent || p.bidir()) {
		return nil
	}
	// UDP that this end sent, or no intervals at all (-i 0).
	x := e.Received
	switch {
	case x == nil && e.Sum != nil: // before 3.7: sizes as sent, datagrams as received
		x = &iperf3Sum{Start: e.Sum.Start, End: e.Sum.End, JitterMS: e.Sum.JitterMS, Lost: e.Sum.Lost, Packets: e.Sum.Packets}
	case x == nil && p.durations == 0:
		x = e.Sent
	}
	if x == nil || value(x.Bytes) == 0 && p.bits["send"] > 0 {
		r.Notes = append(r.Notes, Note{"operations", "absent", "", "only the other end counts what arrived, and it did not say"})
		return nil
	}
	shiftNS, _ := seconds(p.shift())
	toNS, ok := seconds(p.shift() + x.End)
	if !ok || toNS <= shiftNS {
		return nil
	}
	r.DurationNS = max(r.DurationNS, toNS)
	iv := &Interval{FromNS: shiftNS, ToNS: toNS}
	p.values(iv, x, x == e.Sent)
	if lost, packets := iv.Values["lost"], iv.Values["packets"]; lost < 0 || lost > packets {
		delete(iv.Values, "lost")
		iv.note("lost", "impossible", strconv.FormatFloat(lost, 'f', -1, 64), fmt.Sprintf("of %.0f datagrams: how many were lost is unknown", packets))
	}
	p.measured = true
	return iv
}

func (p *Iperf3) bidir() bool {
	_, ok := p.last["receive"]
	return ok
}

// direction takes the totals of a direction into the report; parts are those of its
// intervals.
func (p *Iperf3) direction(r *Report, phase, prefix string, sent, received *iperf3Sum, parts ...string) {
	var measured, throughput float64
	sends := false
	for _, part := range parts {
		measured += p.bits[part]
		sends = sends || p.sends[part]
	}
	tolerance := 0.01
	if p.form == iperf3Plain { // three digits
		tolerance = 0.02
	}
	for _, x := range []struct {
		name string
		sum  *iperf3Sum
		here bool // this end counted it
	}{{"sent", sent, sends}, {"received", received, !sends}} {
		if x.sum == nil || x.sum.Bytes == nil {
			continue
		}
		bits := 8 * *x.sum.Bytes
		switch off := bits - measured; {
		case !(bits >= 0 && bits < huge):
			continue
		case bits == 0 && measured > 0:
			r.warn("the other end did not say how much was %s: the 0 is left out", x.name)
			continue
		case x.here && measured > 0 && math.Abs(off) > tolerance*measured:
			r.warn("the total of what was %s (%.4g bit) is %+.1f %% off the intervals' sum (%.4g bit): it is left out", x.name, bits, 100*off/measured, measured)
			continue
		}
		r.figure(prefix+x.name+"_bits", phase, "bit", bits, 0)
		if rate := value(x.sum.Rate); rate >= 0 && rate < huge {
			r.figure(prefix+x.name+"_bits_per_s", phase, "bit/s", rate, 0)
			throughput = rate // received, where both are known
		}
	}
	if throughput > 0 {
		r.figure(prefix+"throughput", phase, "bit/s", throughput, 0)
	}
	if sent != nil && value(sent.Retransmits) >= 0 && *sent.Retransmits < huge {
		r.figure(prefix+"retransmits", phase, "", *sent.Retransmits, 0)
	}
	x := received
	if prefix == "" && (x == nil || x.Packets == nil) { // before 3.7
		x = p.end.Sum
	}
	if x == nil || !(value(x.Packets) >= 0 && value(x.Packets) < huge) {
		return
	}
	r.figure(prefix+"packets", phase, "", *x.Packets, 0)
	switch lost := value(x.Lost); {
	case math.IsNaN(lost):
	case lost < 0 || lost > *x.Packets:
		r.Notes = append(r.Notes, Note{"lost", "impossible", strconv.FormatFloat(lost, 'f', -1, 64), fmt.Sprintf("of %.0f datagrams: how many were lost is unknown", *x.Packets)})
	default:
		r.figure(prefix+"lost", phase, "", lost, 0)
		if *x.Packets > 0 {
			r.figure(prefix+"loss_pct", phase, "%", 100*lost / *x.Packets, 0)
		}
	}
	if jitter := value(x.JitterMS); jitter >= 0 && *x.Packets > 0 {
		r.figure(prefix+"jitter", phase, "s", jitter/1e3, 0)
	}
}

// ReviewLoss looks at all intervals of a run together: where its lost datagrams sum up
// to less than none or more than all, the intervals' lost are unknown.
func ReviewLoss(all []Interval) {
	for _, part := range []string{"", "send", "receive"} {
		var lost, packets float64
		for k := range all {
			if v, ok := all[k].Values["lost"]; ok && all[k].Part == part {
				lost, packets = lost+v, packets+all[k].Values["packets"]
			}
		}
		if lost >= 0 && lost <= packets {
			continue
		}
		for k := range all {
			if v, ok := all[k].Values["lost"]; ok && all[k].Part == part {
				delete(all[k].Values, "lost")
				all[k].note("lost", "impossible", strconv.FormatFloat(v, 'f', -1, 64), fmt.Sprintf("the run lost %.0f of %.0f datagrams: how many is unknown", lost, packets))
			}
		}
	}
}
