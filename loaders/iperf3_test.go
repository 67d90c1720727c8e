package loaders

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/steadybench/steady/schemas"
)

func TestReadIperf3Files(t *testing.T) {
	null := math.NaN()
	for _, tt := range []struct {
		file                    string
		part                    string
		rows                    int
		bits                    float64 // of the part's rows
		sent, received          float64 // bit/s, of the summary
		retransmits             float64
		first                   float64 // bit/s of the first row
		start                   int64
		version                 string
		incomplete, failed, why string
	}{
		{file: "lo_tcp_P1.json", rows: 10, bits: 8 * 10726932480, sent: 8574963841.75507, received: 8573056851.958185, retransmits: 253, first: 10432570080.5283, start: 1796055229, version: "3.12"},
		{file: "lo_tcp_P10.json", rows: 10, bits: 8 * 17905745920, sent: 14322643127.477411, received: 14322571524.386452, retransmits: 83, first: 10034421354.01727, start: 1796055250, version: "3.12"},
		{file: "lo_tcp_P50.json", rows: 10, bits: 8 * 15179448320, sent: 12143368005.12232, received: 11970011107.224855, retransmits: 221, first: 12552810184.576876, start: 1796055271, version: "3.12"},
		{file: "veth_tcp_P1.json", rows: 10, bits: 8 * 8428584960, sent: 6742508592.29203, received: 6738379323.089572, retransmits: 51185, first: 9259067299.830347, start: 1796055240, version: "3.12"},
		{file: "veth_tcp_P10.json", rows: 10, bits: 8 * 17548836864, sent: 14031911812.9842, received: 14023539907.991512, retransmits: 95, first: 12273100940.39325, start: 1796055261, version: "3.12"},
		{file: "veth_tcp_P50.json", rows: 10, bits: 8 * 7282098176, sent: 5773644150.260196, received: 5773415276.352347, retransmits: 909, first: 8162822021.092764, start: 1796055282, version: "3.12"},
		{file: "veth_tcp_P1_cubic_R.json", rows: 5, bits: 8 * 523894784, sent: 728739895.963, received: 838205670.024229, retransmits: 3, first: 9211079.800458036, start: 1796055311, version: "3.12"},
		{file: "lo_tcp_i0.1.json", rows: 100, bits: 8 * 8714977280, sent: 6971852147.550056, received: 6965123638.373233, retransmits: 214, first: 23783648667.791393, start: 1796055361, version: "3.12"},
		{file: "lo_tcp_getserver.json", rows: 3, bits: 8 * 1921515520, sent: 5123827893.837756, received: 5104644891.3656845, retransmits: 28, first: 4450648993.359397, start: 1796055390, version: "3.12"},
		{file: "lo_tcp_bidir.json", part: "send", rows: 5, bits: 8 * 1723596800, sent: 2753309386.6642914, received: 2748785763.5910225, retransmits: 13, first: 2660189329.2915854, start: 1796055318, version: "3.12"},
		{file: "lo_tcp_bidir.json", part: "receive", rows: 5, bits: 8 * 1559887872, sent: 2753309386.6642914, received: 2748785763.5910225, retransmits: 13, first: 2446351033.2062235, start: 1796055318, version: "3.12"},
		{file: "lo_udp_1G.json", part: "send", rows: 10, bits: 8 * 1249902592, sent: 999911474.5383698, received: 939511414.6274345, retransmits: null, first: 999210976.7213154, start: 1796055329, version: "3.12"},
		{file: "lo_udp_1G.json", rows: 1, bits: 8 * 1174437888, sent: 999911474.5383698, received: 939511414.6274345, retransmits: null, first: 939511414.6274345, start: 1796055329, version: "3.12"},
		{file: "lo_udp_unlimited_P4.json", rows: 1, bits: 8 * 6470729728, sent: 35574043110.016655, received: 10349385899.192436, retransmits: null, first: 10349385899.192436, start: 1796055340, version: "3.12"},
		{file: "veth_udp_b0_l1400.json", rows: 1, bits: 8 * 772541000, sent: 2028965542.068916, received: 617598134.432986, retransmits: null, first: 617598134.432986, start: 1796055345, version: "3.12"},
		{file: "lo_tcp_client_SIGINT.json", rows: 4, bits: 8 * 3317432320, sent: 6640769944.6733, received: null, retransmits: 12, first: 7938140095.706007, start: 1796055406, version: "3.12", incomplete: "interrupt"},
		{file: "lo_tcp_client_SIGTERM.json", rows: 4, bits: 8 * 2601779200, sent: 5197773278.341207, received: null, retransmits: 37, first: 4130543247.1283283, start: 1796055411, version: "3.12", incomplete: "interrupt"},
		// The last interval is printed again, and there are no totals.
		{file: "lo_tcp_server_SIGKILL.json", rows: 3, bits: 8 * (908328960 + 765460480 + 875560960), sent: null, received: null, retransmits: null, first: 7266123226.829444, start: 1796055436, version: "3.12", incomplete: "Connection reset by peer"},
		{file: "noserver.json", sent: null, received: null, retransmits: null, first: null, version: "3.12", failed: "Connection refused"},
		{file: "server_busy.json", sent: null, received: null, retransmits: null, first: null, version: "3.12", failed: "busy running a test"},
		{file: "lo_tcp_server_SIGTERM.txt.err", sent: null, received: null, retransmits: null, first: null, failed: "the server has terminated"},
		{file: "lo_tcp_P1.txt", rows: 10, bits: 82500617502.72, sent: 8.24e9, received: 8.24e9, retransmits: 47, first: 8 * 174 * (1 << 20)},
		{file: "lo_tcp_P10.txt", rows: 5, bits: 30509367296, sent: 6.09e9, received: 6.09e9, retransmits: 17, first: 8 * 788 * (1 << 20) / 1.01},
		{file: "lo_tcp_b100M.txt", rows: 3, bits: 8 * 35.9 * (1 << 20), sent: 100e6, received: 100e6, retransmits: 1, first: 8 * 12 * (1 << 20)},
		{file: "lo_tcp_fm.txt", rows: 3, bits: 8 * (970 + 614 + 706) * (1 << 20), sent: 6402e6, received: 6385e6, retransmits: 27, first: 8 * 970 * (1 << 20)},
		{file: "lo_tcp_i0.1.txt", rows: 30, bits: 28012917555.2, sent: 9.33e9, received: 9.31e9, retransmits: 6, first: 8 * 128 * (1 << 20) / 0.1},
		{file: "lo_tcp_bidir.txt", part: "send", rows: 5, bits: 8 * (479 + 499 + 546 + 432 + 728) * (1 << 20), sent: 4.50e9, received: 4.50e9, retransmits: 14, first: 8 * 479 * (1 << 20)},
		{file: "lo_tcp_bidir.txt", part: "receive", rows: 5, bits: 8 * (533 + 459 + 512 + 506 + 674) * (1 << 20), sent: 4.50e9, received: 4.50e9, retransmits: 14, first: 8 * 533 * (1 << 20)},
		{file: "veth_udp_b0_l1400.txt", rows: 1, bits: 8 * 490 * (1 << 20), sent: 2.36e9, received: 822e6, retransmits: null, first: 8 * 490 * (1 << 20) / 5},
		{file: "lo_tcp_client_SIGKILL.txt", rows: 4, bits: 8 * (676 + 979 + 1021 + 962) * (1 << 20), sent: null, received: null, retransmits: null, first: 8 * 676 * (1 << 20), incomplete: "did not end"},
		// The dying server's interval is printed again, and the total counts it twice.
		{file: "lo_tcp_server_SIGTERM.txt", rows: 3, bits: 8 * (1.20*(1<<30) + (848+1016)*(1<<20)), sent: null, received: null, retransmits: 5, first: 8 * 1.20 * (1 << 30), incomplete: "did not end"},
	} {
		t.Run(tt.file+" "+tt.part, func(t *testing.T) {
			f := oneRun(t, ReadIperf3, toolOutput(t, "iperf3", tt.file), ForeignOptions{})
			sound(t, f)
			all := loadRows(f, tt.part)
			if len(all) != tt.rows || !nearly(addUp(all, "operations"), tt.bits) {
				t.Errorf("%d rows of %v bit, want %d of %v", len(all), addUp(all, "operations"), tt.rows, tt.bits)
			}
			if len(all) > 0 {
				if got := cellOf(all[0], "operations") / (float64(all[0].IntervalNS) / 1e9); !withinPart(got, tt.first, 1e-6) {
					t.Errorf("first row: %v bit/s, want %v", got, tt.first)
				}
			}
			for metric, want := range map[string]float64{"sent_bits_per_s": tt.sent, "received_bits_per_s": tt.received, "retransmits": tt.retransmits} {
				if got, _ := figureOf(f, "run", metric); !nearly(got, want) {
					t.Errorf("%s %v, want %v", metric, got, want)
				}
			}
			if tt.start > 0 && !f.Start.Equal(time.Unix(tt.start, 0)) || tt.start == 0 && !f.Start.IsZero() || f.Facts["iperf3.version"] != tt.version || tt.version != "" && f.Host != "vm" {
				t.Errorf("start %d, version %q of %q, want %d, %q", f.Start.Unix(), f.Facts["iperf3.version"], f.Host, tt.start, tt.version)
			}
			for _, x := range []struct {
				got  []string
				want string
			}{{f.Incomplete, tt.incomplete}, {f.Failed, tt.failed}} {
				if len(x.got) > 0 != (x.want != "") || x.want != "" && !anyHas(x.got, x.want) {
					t.Errorf("reasons %q, want %q", x.got, x.want)
				}
			}
		})
	}
}

// The sums of the rows agree with iperf3's totals.
func TestIperf3RowsAddUpToTheTotals(t *testing.T) {
	for _, tt := range []struct{ file, part, metric string }{
		{"lo_tcp_P1.json", "", "sent_bits"}, {"lo_tcp_P50.json", "", "sent_bits"}, {"veth_tcp_P1_cubic_R.json", "", "received_bits"},
		{"lo_tcp_bidir.json", "send", "sent_bits"}, {"lo_tcp_bidir.json", "receive", "reverse_received_bits"},
		{"lo_udp_1G.json", "", "received_bits"}, {"lo_udp_unlimited_P4.json", "send", "sent_bits"},
		{"lo_tcp_P10.txt", "", "sent_bits"}, {"lo_tcp_i0.1.txt", "", "sent_bits"}, {"lo_tcp_bidir.txt", "receive", "reverse_received_bits"},
		{"veth_udp_b0_l1400.txt", "", "received_bits"}, {"veth_udp_b0_l1400.txt", "send", "sent_bits"},
	} {
		f := oneRun(t, ReadIperf3, toolOutput(t, "iperf3", tt.file), ForeignOptions{})
		want, _ := figureOf(f, "run", tt.metric)
		if got := addUp(loadRows(f, tt.part), "operations"); !withinPart(got, want, 0.01) {
			t.Errorf("%s: part %q has %v bit, %s is %v", tt.file, tt.part, got, tt.metric, want)
		}
	}
}

// Of UDP the throughput is what arrived, with what was lost.
func TestIperf3Datagrams(t *testing.T) {
	for _, tt := range []struct {
		file                  string
		packets, lost, jitter float64
		loss                  float64
		sent                  float64 // packets of the part send
	}{
		{"lo_udp_1G.json", 38144, 2303, 0.0965004139441815e-3, 6.037646812080537, 38144},
		{"veth_udp_b0_l1400.txt", 1052100, 685183, 0.004e-3, 100 * 685183.0 / 1052100, 1052100},
	} {
		f := oneRun(t, ReadIperf3, toolOutput(t, "iperf3", tt.file), ForeignOptions{})
		row := loadRows(f, "")[0]
		if cellOf(row, "packets") != tt.packets || cellOf(row, "lost") != tt.lost || !nearly(cellOf(row, "jitter_s"), tt.jitter) {
			t.Errorf("%s: %v of %v lost, jitter %v, want %v", tt.file, cellOf(row, "lost"), cellOf(row, "packets"), cellOf(row, "jitter_s"), tt)
		}
		if got, _ := figureOf(f, "run", "loss_pct"); !nearly(got, tt.loss) {
			t.Errorf("%s: loss %v %%, want %v", tt.file, got, tt.loss)
		}
		if got := addUp(loadRows(f, "send"), "packets"); got != tt.sent || !math.IsNaN(cellOf(loadRows(f, "send")[0], "lost")) {
			t.Errorf("%s: %v packets sent, want %v", tt.file, got, tt.sent)
		}
	}
}

// window adds up the rows whose interval has its midpoint in a phase.
func window(f *Foreign, phase string) (bits, seconds float64, n int) {
	for _, p := range f.Phases {
		for _, r := range loadRows(f, "") {
			if p.Name == phase && in(r.BootNS, r.IntervalNS, p.FromNS, p.ToNS) {
				bits += cellOf(r, "operations")
				seconds += float64(r.IntervalNS) / 1e9
				n++
			}
		}
	}
	return bits, seconds, n
}

// Omitted seconds are the warm-up, and no row shares a time with another.
func TestIperf3OmittedSeconds(t *testing.T) {
	interval := func(from, to, mbit float64, omitted bool) string {
		return fmt.Sprintf(`{"streams":[],"sum":{"start":%g,"end":%g,"seconds":%g,"bytes":%.0f,"omitted":%v,"sender":true}}`, from, to, to-from, mbit*1e6/8*(to-from), omitted)
	}
	document := `{"start":{"version":"iperf 3.16"},"intervals":[` + interval(0, 1, 100, true) + "," + interval(0, 1, 900, false) + "," + interval(1, 2, 940, false) + `],
"end":{"sum_sent":{"start":0,"end":2,"seconds":2,"bytes":230000000,"bits_per_second":920000000}}}`
	f := oneRun(t, ReadIperf3, document, ForeignOptions{})
	sound(t, f)
	if bits, s, n := window(f, "measure"); n != 2 || !nearly(bits/s, 920e6) {
		t.Errorf("%d measured seconds of %v bit/s, want 2 of 920e6", n, bits/s)
	}
	if _, _, n := window(f, "warmup"); n != 1 || len(loadRows(f, "")) != 3 || len(f.Warnings) > 0 {
		t.Errorf("%d omitted seconds in %d rows, %q", n, len(loadRows(f, "")), f.Warnings)
	}
	// A total that is another than the intervals' sum is not taken.
	f = oneRun(t, ReadIperf3, strings.Replace(document, "230000000", "250000000", 1), ForeignOptions{})
	if v, _ := figureOf(f, "measure", "sent_bits"); !math.IsNaN(v) || !anyHas(f.Warnings, "+8.7 % off") {
		t.Errorf("total %v, %q", v, f.Warnings)
	}

	// 3.12 gives the first measured second a start of 1.003179 and a length of 2.0067.
	f = oneRun(t, ReadIperf3, toolOutput(t, "iperf3", "lo_tcp_omit2.json"), ForeignOptions{})
	sound(t, f)
	if want := []schemas.Phase{{Name: "warmup", ToNS: 2e9}, {Name: "measure", FromNS: 2e9, ToNS: 6997182000}}; f.Phases[0] != want[0] || f.Phases[1] != want[1] {
		t.Errorf("phases %v, want %v", f.Phases, want)
	}
	if bits, s, n := window(f, "measure"); n != 5 || bits != 8*4740874240 || !nearly(s, 4.997182) {
		t.Errorf("%d measured rows of %v bit in %v s, want 5 of %v in 4.997182", n, bits, s, 8*4740874240)
	}
	r := loadRows(f, "")[1]
	if r.IntervalNS != 1003507000 || r.BootNS != 3003507000 || reasonsOf(f)["repaired"] != 1 {
		t.Errorf("the first measured row: %d ns to %d, %v", r.IntervalNS, r.BootNS, reasonsOf(f))
	}
	if got, _ := figureOf(f, "measure", "sent_bits_per_s"); !nearly(got, 7589676325.577095) {
		t.Errorf("sent %v bit/s", got)
	}
}

// Intervals differ in length: each has its own rate, and all together one.
func TestIperf3UnequalIntervals(t *testing.T) {
	text := `{"start":{"version":"iperf 3.12"},"intervals":[`
	at := 0.0
	for k, s := range []float64{0.150, 0.050, 0.100} {
		if k > 0 {
			text += ","
		}
		text += fmt.Sprintf(`{"sum":{"start":%g,"end":%g,"seconds":%g,"bytes":1250000,"sender":true}}`, at, at+s, s)
		at += s
	}
	f := oneRun(t, ReadIperf3, text+`],"end":{}}`, ForeignOptions{})
	var bits, ns float64
	for k, r := range loadRows(f, "") {
		want := []float64{66.67, 200.00, 100.00}[k]
		if got := cellOf(r, "operations") / float64(r.IntervalNS) * 1e3; math.Round(got*100)/100 != want {
			t.Errorf("interval %d: %v Mbit/s, want %v", k, got, want)
		}
		bits += cellOf(r, "operations")
		ns += float64(r.IntervalNS)
	}
	if got := bits / ns * 1e3; math.Round(got*100)/100 != 100.00 {
		t.Errorf("all: %v Mbit/s, want 100.00", got)
	}
}

// Lost datagrams add up before they become a share; what C prints as nan is unknown; a
// run that lost less than none, or more than all, lost an unknown number.
func TestIperf3Loss(t *testing.T) {
	document := func(losses ...string) string {
		text := `{"start":{"version":"iperf 3.12","test_start":{"protocol":"UDP"}},"intervals":[`
		for k, l := range losses {
			if k > 0 {
				text += ","
			}
			text += fmt.Sprintf(`{"sum":{"start":%d,"end":%d,"seconds":1,"bytes":1000,%s,"sender":false}}`, k, k+1, l)
		}
		return text + `],"end":{}}`
	}
	f := oneRun(t, ReadIperf3, document(
		`"lost_packets":2,"packets":100,"lost_percent":2.0,"jitter_ms":0.1`,
		`"lost_packets":0,"packets":0,"lost_percent":-nan,"jitter_ms":nan`,
		`"lost_packets":30,"packets":300,"lost_percent":10.0,"jitter_ms":0.1`), ForeignOptions{})
	sound(t, f)
	all := loadRows(f, "")
	if got := 100 * addUp(all, "lost") / addUp(all, "packets"); got != 8.00 {
		t.Errorf("loss %v %%, want 8.00", got)
	}
	if !math.IsNaN(cellOf(all[1], "jitter_s")) || reasonsOf(f)["repaired"] != 1 {
		t.Errorf("jitter of no datagrams %v, %v", cellOf(all[1], "jitter_s"), reasonsOf(f))
	}

	f = oneRun(t, ReadIperf3, document(
		`"lost_packets":60,"packets":400`, `"lost_packets":-50,"packets":400,"lost_percent":-12.5`), ForeignOptions{})
	all = loadRows(f, "")
	if addUp(all, "lost") != 10 || cellOf(all[1], "lost") != -50 || reasonsOf(f)["retreat lost"] != 1 {
		t.Errorf("late datagrams: %v lost, %v", addUp(all, "lost"), reasonsOf(f))
	}

	for _, l := range []string{`"lost_packets":-50,"packets":400,"lost_percent":-12.5`, `"lost_packets":500,"packets":400`} {
		f = oneRun(t, ReadIperf3, document(l), ForeignOptions{})
		if got := cellOf(loadRows(f, "")[0], "lost"); !math.IsNaN(got) || reasonsOf(f)["impossible lost"] != 1 {
			t.Errorf("%s: %v lost, %v", l, got, reasonsOf(f))
		}
	}
	end := `{"start":{"version":"x"},"intervals":[{"sum":{"start":0,"end":1,"bytes":1000,"sender":true}}],"end":{"sum_received":{"start":0,"end":1,"bytes":1000,"packets":3,"lost_packets":9}}}`
	f = oneRun(t, ReadIperf3, end, ForeignOptions{})
	if v, _ := figureOf(f, "run", "loss_pct"); !math.IsNaN(v) || reasonsOf(f)["impossible lost"] != 1 {
		t.Errorf("9 of 3 are %v %%, %v", v, reasonsOf(f))
	}
	// A count that fell below 0 as an unsigned number.
	f = oneRun(t, ReadIperf3, document(`"lost_packets":0,"packets":18446744073709551425`), ForeignOptions{})
	if got := cellOf(loadRows(f, "")[0], "packets"); !math.IsNaN(got) || reasonsOf(f)["impossible packets"] != 1 {
		t.Errorf("%v packets, %v", got, reasonsOf(f))
	}
}

const iperf3Events = `{"event":"start","data":{"connected":[{"socket":5}],"version":"iperf 3.17","timestamp":{"timesecs":1796055229},"test_start":{"protocol":"TCP","num_streams":1,"omit":1}}}
{"event":"interval","data":{"streams":[],"sum":{"start":0,"end":1.001,"seconds":1.001,"bytes":1001000,"retransmits":3,"omitted":true,"sender":true}}}
{"event":"interval","data":{"streams":[],"sum":{"start":0,"end":1.0,"seconds":1.0,"bytes":2000000,"retransmits":1,"omitted":false,"sender":true}}}
{"event":"interval","data":{"streams":[{"start":1.0,"end":2.0,"seconds":1.0,"bytes":1000000,"retransmits":0,"omitted":false,"sender":true},{"start":1.0,"end":2.0,"seconds":1.0,"bytes":2000000,"retransmits":2,"omitted":false,"sender":true}]}}
`

func TestIperf3EventsAreReadAsTheyCome(t *testing.T) {
	end := `{"event":"end","data":{"sum_sent":{"start":0,"end":2.0,"seconds":2.0,"bytes":5000000,"bits_per_second":20000000,"retransmits":3},"sum_received":{"start":0,"end":2.0,"bytes":5000000,"bits_per_second":20000000}}}
`
	f := oneRun(t, ReadIperf3, iperf3Events+end, ForeignOptions{})
	sound(t, f)
	if bits, s, n := window(f, "measure"); n != 2 || bits != 40e6 || s != 2 || len(f.Incomplete) > 0 {
		t.Errorf("%d rows of %v bit in %v s, %q", n, bits, s, f.Incomplete)
	}
	if r := loadRows(f, ""); cellOf(r[2], "retransmits") != 2 || r[0].BootNS != 1001000000 || r[1].BootNS != 2001000000 {
		t.Errorf("rows %v", r)
	}
	if got, _ := figureOf(f, "measure", "throughput"); got != 20e6 {
		t.Errorf("throughput %v", got)
	}
	// How an early end looks: the error, then an empty end.
	f = oneRun(t, ReadIperf3, iperf3Events+`{"event":"error","data":"the server has terminated"}`+"\n"+`{"event":"end","data":{}}`+"\n", ForeignOptions{})
	if !anyHas(f.Incomplete, "the server has terminated") || len(loadRows(f, "")) != 3 {
		t.Errorf("%d rows, %q", len(loadRows(f, "")), f.Incomplete)
	}
	f = oneRun(t, ReadIperf3, iperf3Events, ForeignOptions{})
	if !anyHas(f.Incomplete, "did not end") {
		t.Errorf("incomplete %q", f.Incomplete)
	}
	if runs, err := ReadIperf3("f", iperf3Events+`{"event":"interval","data":{"str`, ForeignOptions{}); err == nil || runs != nil || !strings.Contains(err.Error(), "line 5") {
		t.Errorf("an event that is cut off: %v", err)
	}
}

func TestIperf3TruncatedDocument(t *testing.T) {
	text := toolOutput(t, "iperf3", "lo_tcp_P1.TRUNCATED_4000B.json")
	if runs, err := ReadIperf3("f", text, ForeignOptions{}); err == nil || runs != nil || !strings.Contains(err.Error(), "cut off at byte 4000") {
		t.Errorf("%v, want the byte", err)
	}
	f := oneRun(t, ReadIperf3, text, ForeignOptions{Salvage: true})
	sound(t, f)
	whole := loadRows(oneRun(t, ReadIperf3, toolOutput(t, "iperf3", "lo_tcp_P1.json"), ForeignOptions{}), "")
	got := loadRows(f, "")
	if len(got) != 5 || !anyHas(f.Incomplete, "cut off at byte 4000") {
		t.Fatalf("%d rows, %q", len(got), f.Incomplete)
	}
	for k, r := range got {
		if cellOf(r, "operations") != cellOf(whole[k], "operations") || r.BootNS != whole[k].BootNS {
			t.Errorf("row %d: %v, want %v", k, r, whole[k])
		}
	}
}

// Text tells the same in any unit of -f.
func TestIperf3TextUnits(t *testing.T) {
	for _, rate := range []string{"8000000 Kbits/sec", "8000 Mbits/sec", "8.00 Gbits/sec", "0.01 Tbits/sec", "976562 KBytes/sec", "954 MBytes/sec", "0.93 GBytes/sec"} {
		text := `Connecting to host h, port 5201
[  5] local 127.0.0.1 port 1 connected to 127.0.0.1 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   954 MBytes  ` + rate + `    8    895 KBytes       (omitted)
[  5]   0.00-1.00   sec   954 MBytes  ` + rate + `    7    895 KBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-1.00   sec   954 MBytes  ` + rate + `    7             sender
[  5]   0.00-1.00   sec   954 MBytes  ` + rate + `                  receiver

iperf Done.
`
		f := oneRun(t, ReadIperf3, text, ForeignOptions{})
		sound(t, f)
		all := loadRows(f, "")
		if len(all) != 2 || cellOf(all[1], "operations") != 8*954*(1<<20) || cellOf(all[1], "retransmits") != 7 || all[1].BootNS != 2e9 {
			t.Errorf("%s: rows %v", rate, all)
		}
		if got, _ := figureOf(f, "measure", "sent_bits_per_s"); !withinPart(got, 8e9, 0.26) || rate[0] != '0' && !withinPart(got, 8e9, 0.001) {
			t.Errorf("%s: %v bit/s, want 8e9", rate, got)
		}
	}
	for _, tt := range []struct{ name, text, want string }{
		{"a beginning that is cut off", "Accepted connection from h\n[  5]   0.00-1.00   sec   954 MBytes  8.00 Gbits/sec    8\n", "beginning"},
		{"a line that is cut off", "Connecting to host h\n[  5] local a port 1 connected to b port 2\n[ ID] Interval\n[  5]   0.00-1.00   sec   954 MBytes  8,00 Gbits/sec    8\n", "no whole interval line"},
		{"time that goes back", "Connecting to host h\n[  5] local a port 1 connected to b port 2\n[ ID] Interval\n[  5]   1.00-2.00   sec   954 MBytes  8.00 Gbits/sec    8\n[  5]   0.00-1.00   sec   954 MBytes  8.00 Gbits/sec    8\n", "behind one that ended"},
	} {
		if runs, err := ReadIperf3("f", tt.text, ForeignOptions{}); err == nil || runs != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want a word of %q", tt.name, err, tt.want)
		}
	}
}

// What a test prints twice, in two forms, is one run.
func TestIperf3PrintsTheSameAgain(t *testing.T) {
	server := strings.Replace(toolOutput(t, "iperf3", "lo_tcp_b100M.txt"), "\niperf Done.", `
Server output:
-----------------------------------------------------------
Server listening on 5201 (test #1)
-----------------------------------------------------------
Accepted connection from 127.0.0.1, port 33212
[  5] local 127.0.0.1 port 15999 connected to 127.0.0.1 port 47183
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec  12.0 MBytes   101 Mbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-3.00   sec  35.9 MBytes   100 Mbits/sec                  receiver


iperf Done.`, 1)
	f := oneRun(t, ReadIperf3, server, ForeignOptions{})
	sent, _ := figureOf(f, "run", "sent_bits")
	if n := len(loadRows(f, "")); n != 3 || len(f.Incomplete) > 0 || !nearly(sent, 8*35.9*(1<<20)) {
		t.Errorf("--get-server-output: %d rows, %v bit sent, %q", n, sent, f.Incomplete)
	}
	events := iperf3Events + `{"event":"end","data":{"sum_sent":{"start":0,"end":2.0,"bytes":5000000}}}` + "\n"
	f = oneRun(t, ReadIperf3, events+toolOutput(t, "iperf3", "lo_tcp_P1.json"), ForeignOptions{})
	if n := len(loadRows(f, "")); n != 3 || len(f.Incomplete) > 0 {
		t.Errorf("--json-stream-full-output: %d rows, %q", n, f.Incomplete)
	}
}

// Without intervals (-i 0) the totals are one row.
func TestIperf3WithoutIntervals(t *testing.T) {
	f := oneRun(t, ReadIperf3, `Connecting to host h, port 5201
[  5] local 127.0.0.1 port 1 connected to 127.0.0.1 port 5201
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-3.00   sec  35.9 MBytes   100 Mbits/sec    1             sender
[  5]   0.00-3.01   sec  35.8 MBytes   100 Mbits/sec                  receiver

iperf Done.
`, ForeignOptions{})
	sound(t, f)
	all := loadRows(f, "")
	if len(all) != 1 || !nearly(cellOf(all[0], "operations"), 8*35.8*(1<<20)) || all[0].IntervalNS != 3010000000 || len(f.Failed)+len(f.Incomplete) > 0 {
		t.Errorf("rows %v, %q, %q", all, f.Failed, f.Incomplete)
	}
}
