package outputs

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/steadybench/steady/schemas"
)

// feed gives a parser some lines and returns how many intervals each line completed.
func feed(t *testing.T, p Parser, text string) (given []int, all []Interval) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		ivs, err := p.Line(line)
		if err != nil {
			t.Fatal(err)
		}
		given = append(given, len(ivs))
		all = append(all, ivs...)
	}
	return given, all
}

// A driver has an interval as soon as its line is there.
func TestIntervalsComeWithTheirLines(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		parser     Parser
		want       []int
	}{
		{"sysbench", "Threads started!\n[ 1s ] thds: 1 eps: 9.00 lat (ms,95%): 1.10\n[ 2s ] thds: 1 eps: 9.00 lat (ms,95%): 1.10\n", &Sysbench{}, []int{0, 1, 1}},
		{"sysbench with a queue", "Target transaction rate: 9/sec\n[ 1s ] thds: 1 eps: 9.00 lat (ms,95%): 1.10\n[ 1s ] queue length: 1, concurrency: 2\n[ 2s ] thds: 1 eps: 9.00 lat (ms,95%): 1.10\n[ 3s ] thds: 1 eps: 9.00 lat (ms,95%): 1.10\n", &Sysbench{}, []int{0, 0, 1, 0, 1}},
		{"iperf3", `Connecting to host h, port 5201
[  5] local a port 1 connected to b port 2
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   174 MBytes  1.45 Gbits/sec    7   1.50 MBytes
[  5]   1.00-2.00   sec   174 MBytes  1.45 Gbits/sec    7   1.50 MBytes
`, &Iperf3{}, []int{0, 0, 0, 1, 1}},
		{"iperf3 with two streams", `Connecting to host h, port 5201
[  5] local a port 1 connected to b port 2
[  7] local a port 3 connected to b port 2
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   174 MBytes  1.45 Gbits/sec    7   1.50 MBytes
[  7]   0.00-1.00   sec   174 MBytes  1.45 Gbits/sec    7   1.50 MBytes
[SUM]   0.00-1.00   sec   348 MBytes  2.90 Gbits/sec   14
`, &Iperf3{}, []int{0, 0, 0, 0, 0, 0, 1}},
		{"iperf3 both ways", `Connecting to host h, port 5201
[  5] local a port 1 connected to b port 2
[  7] local a port 3 connected to b port 2
[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd
[  5][TX-C]   0.00-1.00   sec   174 MBytes  1.45 Gbits/sec    7   1.50 MBytes
[  7][RX-C]   0.00-1.00   sec   174 MBytes  1.45 Gbits/sec
`, &Iperf3{}, []int{0, 0, 0, 0, 1, 1}},
		{"iperf3's events", `{"event":"start","data":{"version":"iperf 3.17"}}
{"event":"interval","data":{"sum":{"start":0,"end":1,"seconds":1,"bytes":5,"sender":true}}}
{"event":"interval","data":{"sum":{"start":1,"end":2,"seconds":1,"bytes":5,"sender":true},"sum_bidir_reverse":{"start":1,"end":2,"seconds":1,"bytes":5,"sender":false}}}
`, &Iperf3{}, []int{0, 1, 2}},
	} {
		if got, _ := feed(t, tt.parser, tt.text); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v intervals, want %v", tt.name, got, tt.want)
		}
	}
	var p Perf
	var given []bool
	for _, line := range strings.Split("1.000000000,1,,cycles,5,100.00\n1.000000000,2,,faults,5,100.00\n2.000000000,3,,cycles,5,100.00", "\n") {
		iv, err := p.Line(line)
		if err != nil {
			t.Fatal(err)
		}
		given = append(given, iv != nil)
	}
	iv, _ := p.Line("2.000000000,<not counted>,,instructions,0,100.00,,")
	if iv != nil {
		t.Errorf("an interval within one: %+v", iv)
	}
	iv, _, err := p.End()
	if c := iv.Counts[1]; c.Missing != "not counted" || !math.IsNaN(c.Running) {
		t.Errorf("what was not counted: %+v", c)
	}
	if err != nil || !reflect.DeepEqual(given, []bool{false, false, true}) || iv.FromNS != 1e9 || iv.ToNS != 2e9 || len(iv.Counts) != 2 {
		t.Errorf("perf: %v, then %+v, %v", given, iv, err)
	}
}

// A line that can't be read is lost, and only that one.
func TestAParserGoesOnBehindABadLine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		parser Parser
		lines  []string
	}{
		{"sysbench", &Sysbench{}, []string{"[ 1s ] thds: 1 eps: 9.00 lat (ms,95%): 1.10", "[ 2s ] thds: 1 eps: 9,00 lat", "[ 3s ] thds: 1 eps: 9.00 lat (ms,95%): 1.10"}},
		{"iperf3", &Iperf3{}, []string{`{"event":"interval","data":{"sum":{"start":0,"end":1,"bytes":5}}}`, `{"event":"interval","data":{"sum"`, `{"event":"interval","data":{"sum":{"start":2,"end":3,"bytes":5}}}`}},
	} {
		n, bad := 0, 0
		for _, line := range tt.lines {
			ivs, err := tt.parser.Line(line)
			n += len(ivs)
			if err != nil {
				bad++
			}
		}
		ivs, r, err := tt.parser.End()
		if n += len(ivs); n != 2 || bad != 1 || err != nil || len(r.Incomplete) != 1 {
			t.Errorf("%s: %d intervals, %d errors, then %v, %+v", tt.name, n, bad, err, r)
		}
	}
}

// Rows carry the interval's length, its end at the clocks given, and why cells are null.
func TestRowsOfAnInterval(t *testing.T) {
	iv := Interval{Part: "send", FromNS: 1e9, ToNS: 3e9, Latencies: []Bucket{{1000, 2}, {5000, 1}}}
	iv.set("operations", 2.5)
	iv.set("errors", 2.6)
	iv.set("jitter_s", math.NaN())
	iv.note("lost", "absent", "7", "why")
	rows, err := iv.Rows("tool", "bit", 100, 200)
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	cell := func(r schemas.Row, column string) schemas.Cell { return r.Cells[r.Table.Column(column)] }
	r := rows[0]
	if r.Device != "send" || r.WallNS != 100 || r.BootNS != 200 || r.IntervalNS != 2e9 || cell(r, "operations").Float != 2.5 || cell(r, "errors").Int != 3 || cell(r, "jitter_s").Known || cell(r, "lost").Known {
		t.Errorf("row %+v", r)
	}
	h, err := hdrhistogram.Decode(cell(r, "latency_hist").Bytes)
	if err != nil || h.TotalCount() != 3 || h.ValueAtQuantile(50) != 1000 {
		t.Errorf("histogram %v, %v", h, err)
	}
	if q := rows[1]; cell(q, "reason").Text != "nan" || cell(q, "column").Text != "jitter_s" {
		t.Errorf("quality %+v", q)
	}
	if q := rows[2]; q.Table != &schemas.Quality || cell(q, "reason").Text != "absent" || cell(q, "column").Text != "lost" || cell(q, "part").Text != "send" || cell(q, "current").Text != "7" || cell(q, "detail").Text != "why" || q.BootNS != 200 {
		t.Errorf("quality %+v", q)
	}
	if _, err := Histogram([]Bucket{{-1, 1}}); err == nil {
		t.Error("a latency below 0 was counted")
	}
}

func TestRepairOfJSON(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		repaired   bool
	}{
		{`{"a":nan,"b":-nan}`, `{"a":null,"b":null}`, true},
		{`{"a":inf, "b" : -inf }`, `{"a":null, "b" : null }`, true},
		{`[nan,1]`, `[null,1]`, true},
		{`{"nan":"nan, -nan","b":"\"nan,"}`, `{"nan":"nan, -nan","b":"\"nan,"}`, false},
		{`{"a":nano}`, `{"a":nano}`, false},
		{`{"a":1}`, `{"a":1}`, false},
	} {
		got, repaired := repair([]byte(tt.text))
		if string(got) != tt.want || repaired != tt.repaired {
			t.Errorf("%s: %s, %v, want %s, %v", tt.text, got, repaired, tt.want, tt.repaired)
		}
	}
}

func TestQuantilesOfBuckets(t *testing.T) {
	buckets := []Bucket{{1e9, 1}, {2e9, 98}, {3e9, 1}}
	for q, want := range map[float64]float64{0: 1, 0.01: 1, 0.011: 2, 0.5: 2, 0.99: 2, 0.991: 3, 1: 3} {
		if got := quantile(buckets, 100, q); got != want {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
}
