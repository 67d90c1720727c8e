package workload

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

var _ Load = (*HTTP)(nil)

// result is what a run emitted, by table.
type result struct {
	begin   int64
	rows    []schemas.Row
	summary map[string]float64
}

// drive runs h, beginning at once unless it has a start, until enough says so of the
// rows so far, and checks what holds for every run.
func drive(t *testing.T, h *HTTP, enough func(rows []schemas.Row) bool) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if h.Interval == 0 {
		h.Interval = 20 * time.Millisecond
	}
	r := result{begin: h.StartBootNS, summary: map[string]float64{}}
	if r.begin == 0 {
		_, r.begin = collector.Now()
	}
	stopped := false
	err := h.Run(ctx, func(row schemas.Row) {
		if row.Table == &schemas.Summary {
			r.summary[text(row, "metric")] = number(row, "value")
			return
		}
		r.rows = append(r.rows, row)
		if !stopped && enough(r.rows) {
			stopped = true
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !stopped {
		t.Fatalf("not enough within a minute: %v", r.summary)
	}
	if first := r.rows[0].BootNS - r.rows[0].IntervalNS; h.StartBootNS == 0 && first >= r.begin {
		r.begin = first
	}
	check(t, r)
	return r
}

// check holds the rows against one another and against the summary.
func check(t *testing.T, r result) {
	t.Helper()
	last := r.begin
	var operations, errs float64
	for i, row := range r.rows {
		if row.BootNS-row.IntervalNS != last {
			t.Errorf("row %d begins %d ns after the end of the one before", i, row.BootNS-row.IntervalNS-last)
		}
		last = row.BootNS
		n := number(row, "operations")
		operations += n
		errs += number(row, "errors")
		hist := cell(row, "latency_hist")
		for _, c := range []string{"latency_mean_s", "latency_p50_s", "latency_p95_s", "latency_p99_s", "latency_max_s", "latency_hist"} {
			if known := cell(row, c).Known; known != (n > 0) {
				t.Errorf("row %d: %v operations, %s known: %v", i, n, c, known)
			}
		}
		if n == 0 {
			continue
		}
		h, err := hdrhistogram.Decode(hist.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if float64(h.TotalCount()) != n {
			t.Errorf("row %d: histogram of %d, %v operations", i, h.TotalCount(), n)
		}
		p50, p95, p99, longest := number(row, "latency_p50_s"), number(row, "latency_p95_s"), number(row, "latency_p99_s"), number(row, "latency_max_s")
		if !(0 < p50 && p50 <= p95 && p95 <= p99 && p99 <= longest) {
			t.Errorf("row %d: percentiles %v %v %v, max %v", i, p50, p95, p99, longest)
		}
	}
	if got := sum(r.rows, func(row schemas.Row) float64 { return float64(row.IntervalNS) }); got != float64(last-r.begin) {
		t.Errorf("intervals sum to %v ns, the run was %d", got, last-r.begin)
	}
	if operations != r.summary["operations"] || errs != r.summary["errors"] {
		t.Errorf("rows sum to %v operations and %v errors, the summary says %v and %v", operations, errs, r.summary["operations"], r.summary["errors"])
	}
	byCause := 0.0
	for why := range failures {
		byCause += r.summary["errors_"+why.String()]
	}
	if byCause != errs {
		t.Errorf("errors by cause sum to %v, all are %v", byCause, errs)
	}
}

func cell(row schemas.Row, column string) schemas.Cell { return row.Cells[row.Table.Column(column)] }
func text(row schemas.Row, column string) string       { return cell(row, column).Text }

func number(row schemas.Row, column string) float64 {
	if c := cell(row, column); row.Table.Columns[row.Table.Column(column)].Float {
		return c.Float
	} else {
		return float64(c.Int)
	}
}

func sum(rows []schemas.Row, value func(schemas.Row) float64) float64 {
	s := 0.0
	for _, row := range rows {
		s += value(row)
	}
	return s
}

func operations(row schemas.Row) float64 { return number(row, "operations") }
func errorsOf(row schemas.Row) float64   { return number(row, "errors") }

// atLeast says enough at n of a column.
func atLeast(n float64, value func(schemas.Row) float64) func([]schemas.Row) bool {
	return func(rows []schemas.Row) bool { return sum(rows, value) >= n }
}

// serve returns the URL of a test server. Its handlers are released at the test's end
// by their request's context.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func TestEveryOperationIsInOneRow(t *testing.T) {
	const n = 5000
	var asked atomic.Int64
	text := Body()
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if asked.Add(1) > n {
			<-req.Context().Done() // the run is over once the n answers are in
			return
		}
		w.Write(text)
	})
	// Intervals of 1 ms: hundreds of swaps; more connections than recorders.
	r := drive(t, &HTTP{URL: url, Connections: 80, Want: text, Schedule: Schedule{Interval: time.Millisecond}}, atLeast(n, operations))
	if got := r.summary["operations"]; got != n {
		t.Errorf("%v operations, the server answered %d", got, n)
	}
	if got := r.summary["body_bytes"]; got != n*float64(len(text)) {
		t.Errorf("%v bytes", got)
	}
	if r.summary["errors"] != 0 || r.summary["connections_opened"] != 80 {
		t.Errorf("summary: %v", r.summary)
	}
	if got := float64(asked.Load()); r.summary["operations"]+r.summary["unanswered"] < got {
		t.Errorf("the server was asked %v times: %v", got, r.summary)
	}
}

func TestServerAndLoad(t *testing.T) {
	for _, zipping := range []bool{false, true} {
		t.Run(fmt.Sprintf("gzip=%v", zipping), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			addr, served := make(chan string, 1), make(chan error, 1)
			go func() {
				served <- Serve(ctx, ServerOptions{Addr: "127.0.0.1:0", Gzip: zipping}, func(a string) { addr <- a })
			}()
			url := "http://" + <-addr + "/"
			for _, accepts := range []bool{false, true} {
				r := drive(t, &HTTP{URL: url, Connections: 4, Want: Body(), Gzip: accepts}, atLeast(500, operations))
				size := r.summary["body_bytes"] / r.summary["operations"]
				if zipped := size != 1024; zipped != (zipping && accepts) || size > 1024 {
					t.Errorf("client accepts gzip: %v: %v bytes an answer", accepts, size)
				}
				if r.summary["errors"] != 0 {
					t.Errorf("errors: %v", r.summary)
				}
			}
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

// Little's law: connections that always wait are throughput times latency. The server
// takes 5 ms, so that what the client needs between two requests hardly counts.
func TestLittlesLaw(t *testing.T) {
	const n = 8
	text := Body()
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		<-time.After(5 * time.Millisecond)
		w.Write(text)
	})
	_, now := collector.Now()
	start := Schedule{StartBootNS: now + int64(time.Second), Interval: 100 * time.Millisecond}
	r := drive(t, &HTTP{URL: url, Connections: n, Schedule: start}, atLeast(1000, operations))
	waited := sum(r.rows, func(row schemas.Row) float64 { return number(row, "latency_mean_s") * operations(row) })
	elapsed := sum(r.rows, func(row schemas.Row) float64 { return float64(row.IntervalNS) / 1e9 })
	if got := waited / elapsed; got < 0.85*n || got > 1.15*n {
		t.Errorf("throughput x latency = %.2f, %d connections", got, n)
	}
}

func TestStallShows(t *testing.T) {
	const stall = 2 * time.Second
	text := Body()
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if n := asked.Add(1); n > 100 && n <= 104 {
			<-time.After(stall)
		}
		w.Write(text)
	})
	r := drive(t, &HTTP{URL: url, Connections: 4, Schedule: Schedule{Interval: 100 * time.Millisecond}}, atLeast(200, operations))
	zeros, longest := 0, 0.0
	for _, row := range r.rows {
		if operations(row) == 0 {
			zeros++ // check held the latencies to be null
		} else {
			longest = max(longest, number(row, "latency_max_s"))
		}
	}
	if zeros == 0 || longest < stall.Seconds() {
		t.Errorf("%d rows of %d without operations, longest latency %v s", zeros, len(r.rows), longest)
	}
	if r.summary["errors"] != 0 {
		t.Errorf("errors: %v", r.summary)
	}
}

func TestFailuresByCause(t *testing.T) {
	text := Body()
	raw := func(answer string) func(net.Conn) {
		return func(c net.Conn) {
			c.Read(make([]byte, 1024))
			io.WriteString(c, answer)
		}
	}
	var wrongZip bytes.Buffer
	z := gzip.NewWriter(&wrongZip)
	z.Write(text[1:])
	z.Close()
	zipAnswer := "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s"
	for _, tt := range []struct {
		name  string
		serve func(net.Conn)
		want  failure
	}{
		{"status", raw("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"), status},
		{"redirect", raw("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"), status},
		{"truncated body", raw("HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n" + string(text[:500])), body},
		{"truncated chunks", raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n" + string(text[:500])), body},
		{"body ended by the connection, too early", raw("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + string(text[:500])), body},
		{"another body", raw("HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n" + strings.Repeat("x", 1024)), body},
		{"another body, zipped", raw(fmt.Sprintf(zipAnswer, wrongZip.Len(), wrongZip.Bytes())), body},
		{"not zipped at all", raw(fmt.Sprintf(zipAnswer, len(text), text)), body},
		{"unknown encoding", raw("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx"), body},
		{"no HTTP", raw("220 mail.example.com ESMTP\r\n\r\n"), broken},
		{"half a header", raw("HTTP/1.1 200 OK\r\nContent-Le"), broken},
		{"no answer", raw(""), broken},
		{"time-out", func(c net.Conn) { io.Copy(io.Discard, c) }, timedOut},
		{"time-out in the header", func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n"); io.Copy(io.Discard, c) }, timedOut},
		{"time-out in the body", func(c net.Conn) {
			raw("HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\nhalf")(c)
			io.Copy(io.Discard, c)
		}, timedOut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			var warnings []error
			h := &HTTP{URL: "http://" + listen(t, tt.serve), Connections: 2, Want: text, Timeout: 10 * time.Second,
				Warn: func(err error) {
					mu.Lock()
					warnings = append(warnings, err)
					mu.Unlock()
				}}
			if tt.want == timedOut {
				h.Timeout = 20 * time.Millisecond
			}
			r := drive(t, h, func(rows []schemas.Row) bool { return sum(rows, errorsOf) >= 4 })
			if r.summary["operations"] != 0 {
				t.Errorf("%v operations", r.summary["operations"])
			}
			// A server that closes at once may break the write of the next request too.
			if got := r.summary["errors_"+tt.want.String()]; got < 2 || tt.want != status && tt.want != body && got != r.summary["errors"] {
				t.Errorf("not %v: %v", tt.want, r.summary)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(warnings) == 0 || !strings.Contains(warnings[0].Error(), tt.want.String()) {
				t.Errorf("warnings: %v", warnings)
			}
		})
	}
}

func TestConnectionsAreKept(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if asked.Add(1)%10 == 0 {
			w.Header().Set("Connection", "close") // as servers do after so many requests
		}
		io.WriteString(w, "text")
	})
	r := drive(t, &HTTP{URL: url, Connections: 3}, atLeast(300, operations))
	answered := r.summary["operations"]
	// Only the last close of each connection may be without a new one.
	if opened := r.summary["connections_opened"]; opened < answered/10 || opened > answered/10+3+3 || r.summary["errors"] != 0 {
		t.Errorf("%v connections for %v requests, %v errors", opened, answered, r.summary["errors"])
	}
}

// A server that closes after each answer without saying so breaks every second request.
// An answer ends the growth of the pauses: else 15 of them would take 9 s at least.
func TestAnAnswerEndsTheBackoff(t *testing.T) {
	url := "http://" + listen(t, func(c net.Conn) {
		c.Read(make([]byte, 1024))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	r := drive(t, &HTTP{URL: url, Connections: 1}, atLeast(15, errorsOf))
	if took := time.Duration(r.rows[len(r.rows)-1].BootNS - r.begin); took > 6*time.Second {
		t.Errorf("15 lost connections took %v", took)
	}
	if r.summary["errors_broken"] != r.summary["errors"] {
		t.Errorf("summary: %v", r.summary)
	}
}

func TestARequestThatCannotBeWritten(t *testing.T) {
	c := dial(t, listen(t, canned))
	if err := c.once(); err != nil {
		t.Fatal(err)
	}
	c.conn.Close()
	if err := c.ask(time.Now()); err == nil || c.cause(err) != broken {
		t.Errorf("after a good answer: %v, %v", c.cause(err), err)
	}
}

func TestServerKilledAndBack(t *testing.T) {
	const n = 4
	p, addr := startRole(t, "server", "127.0.0.1:0")
	var back *Process
	var before float64
	h := &HTTP{URL: "http://" + addr, Connections: n, Want: Body()}
	r := drive(t, h, func(rows []schemas.Row) bool {
		switch {
		case before == 0:
			if sum(rows, operations) > 100 {
				before = sum(rows, operations)
				p.Signal(9)
				<-p.Done
			}
		case back == nil:
			if sum(rows, errorsOf) >= 5*n {
				before = sum(rows, operations)
				back, _ = startRole(t, "server", addr)
			}
		default:
			return sum(rows, operations) > before+100
		}
		return false
	})
	if r.summary["errors_connect"] == 0 || r.summary["errors_status"] != 0 || r.summary["errors_body"] > n {
		t.Errorf("summary: %v", r.summary)
	}
	// Pauses of 10, 20, ... 640 ms and then 1 s allow 8 attempts and one a second.
	elapsed := float64(r.rows[len(r.rows)-1].BootNS-r.begin) / 1e9
	if most := n * (9 + elapsed); r.summary["errors"] > most {
		t.Errorf("%v errors in %.1f s: the dead server was hammered", r.summary["errors"], elapsed)
	}
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("stopping a killed server: %v", err)
	}
}

func TestEndIsPrompt(t *testing.T) {
	const n = 10
	var waiting sync.WaitGroup
	waiting.Add(n)
	url := "http://" + listen(t, func(c net.Conn) {
		c.Read(make([]byte, 1024))
		waiting.Done()
		io.Copy(io.Discard, c)
	})
	ctx, cancel := context.WithCancel(t.Context())
	var cancelled time.Time
	go func() {
		waiting.Wait()
		cancelled = time.Now()
		cancel()
	}()
	summary := map[string]float64{}
	h := &HTTP{URL: url, Connections: n, Schedule: Schedule{Interval: time.Hour}}
	err := h.Run(ctx, func(row schemas.Row) {
		if row.Table == &schemas.Summary {
			summary[text(row, "metric")] = number(row, "value")
		} else {
			t.Error("a row of a moment in which nothing happened")
		}
	})
	if took := time.Since(cancelled); err != nil || took > 300*time.Millisecond {
		t.Errorf("ended after %v: %v", took, err)
	}
	if summary["unanswered"] != n || summary["unanswered_wait_max"] <= 0 || summary["errors"] != 0 {
		t.Errorf("summary: %v", summary)
	}
}

func TestTheRestHasARow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if asked.Add(1) > 100 {
			cancel()
			<-req.Context().Done()
		}
	})
	var rows []schemas.Row
	h := &HTTP{URL: url, Connections: 1, Schedule: Schedule{Interval: time.Hour}}
	if err := h.Run(ctx, func(row schemas.Row) { rows = append(rows, row) }); err != nil {
		t.Fatal(err)
	}
	if rows[0].Table != &schemas.Workload || operations(rows[0]) != 100 || rows[0].IntervalNS != rows[1].IntervalNS {
		t.Errorf("row: %+v", rows[0])
	}
}

func TestEndBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, now := collector.Now()
	h := &HTTP{URL: "http://127.0.0.1:1", Connections: 1, Schedule: Schedule{StartBootNS: now + int64(time.Hour)}}
	cancel()
	if err := h.Run(ctx, func(schemas.Row) { t.Error("a row") }); err != nil {
		t.Error(err)
	}
}

func TestSenselessFields(t *testing.T) {
	for _, h := range []HTTP{
		{URL: "https://localhost", Connections: 1},
		{URL: "http://", Connections: 1},
		{URL: "http://local host", Connections: 1},
		{URL: "http://localhost"},
		{URL: "http://localhost", Connections: 1, Timeout: 2 * time.Minute},
		{URL: "http://localhost", Connections: 1, Schedule: Schedule{Interval: -1}},
	} {
		if err := h.Run(t.Context(), func(schemas.Row) {}); err == nil {
			t.Errorf("%q, %d connections: no error", h.URL, h.Connections)
		}
	}
}

func TestRequestGoesWhereTheURLSays(t *testing.T) {
	var got atomic.Pointer[http.Request]
	url := serve(t, func(w http.ResponseWriter, req *http.Request) {
		got.Store(req)
		w.WriteHeader(http.StatusNoContent)
	})
	r := drive(t, &HTTP{URL: url + "/a%20b?c=d", Connections: 1, Gzip: true}, atLeast(1, operations))
	if req := got.Load(); req.URL.String() != "/a%20b?c=d" || "http://"+req.Host != url || req.Header.Get("Accept-Encoding") != "gzip" || r.summary["errors"] != 0 {
		t.Errorf("%s, host %s, %v", req.URL, req.Host, req.Header)
	}
}

// canned answers every request the same, without allocating.
func canned(c net.Conn) {
	text := Body()
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	buf := make([]byte, 1024)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

// dial returns an open connection of a load of one.
func dial(t testing.TB, addr string) *connection {
	t.Helper()
	r, err := (&HTTP{URL: "http://" + addr, Connections: 1, Want: Body()}).prepare()
	if err != nil {
		t.Fatal(err)
	}
	c := &connection{run: r, recorder: &r.meter.recorders[0]}
	c.resp.KeepBodyBuffer = true
	c.recorder.now.latencies = make([]int64, 0, 1<<20)
	if err := c.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

func (c *connection) once() error {
	start := time.Now()
	if err := c.ask(start); err != nil {
		return err
	}
	c.judge(time.Since(start))
	if c.recorder.now.failed != [failures]int64{} {
		return errors.New("failed")
	}
	return nil
}

func TestRequestDoesNotAllocate(t *testing.T) {
	c := dial(t, listen(t, canned))
	var err error
	if n := testing.AllocsPerRun(1000, func() { err = errors.Join(err, c.once()) }); n != 0 || err != nil {
		t.Errorf("%v allocations a request, %v", n, err)
	}
}

func BenchmarkRequest(b *testing.B) {
	_, addr := startRole(b, "server", "127.0.0.1:0") // another process: its allocations don't count
	c := dial(b, addr)
	b.ReportAllocs()
	for b.Loop() {
		c.recorder.now.reset()
		if err := c.once(); err != nil {
			b.Fatal(err)
		}
	}
}
