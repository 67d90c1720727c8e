package workload

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/steadybench/steady/schemas"
)

// HTTP is a closed-loop HTTP/1.1 load: each of its connections is kept alive, asks,
// waits for the answer and asks again at once.
//
// An operation is a 2xx answer with the whole body expected. Its latency runs from
// before the request is written until the body is read; opening a connection is not
// part of it. A request belongs to the interval in which it was answered, however long
// ago it was asked. Failures have no latency; they are counted in the column errors,
// and by cause in the summary (errors_connect, errors_timeout, errors_broken,
// errors_status, errors_body). After a lost connection a new one is opened, after 10 ms
// and after twice as long each further time, up to a second, until an answer comes.
//
// Being a closed loop, it leaves out what it did not ask (coordinated omission): while
// the server stalls, each connection waits with one request, so a stall of 2 s appears
// in the percentiles once a connection and not once for every request that users would
// have sent. The latencies are service times under self-throttling. What shows a stall
// is the rows: operations 0 with null latencies while it lasts, and the full wait as
// latency_max_s of the row in which it ends. Requests that were still waiting at the
// end are in the summary: unanswered, and the longest wait, unanswered_wait_max.
//
// The client is fasthttp's response parser on a connection of our own. Side by side on
// two cores that served the answers as well (1 KB, 10 to 1000 connections, net/http and
// fasthttp servers), net/http's Transport made 1.5 to 3.1 times fewer requests a second
// and took 1.8 to 4.3 times the CPU for each. http.ReadResponse on a connection of our
// own came within 1.35 of fasthttp, but allocates for every answer, and the collection
// of garbage would show up in the percentiles. fasthttp's own client retries, which
// hides failures.
type HTTP struct {
	Schedule
	URL         string // http only
	Connections int
	// Timeout is how long a request, or opening a connection, may take; 0 means 10 s.
	Timeout time.Duration
	// Want is the body that each answer must have, after decoding; nil takes that of
	// the first 2xx answer.
	Want []byte
	// Gzip asks for compressed answers. One is decoded and compared with Want; the same
	// bytes again are known to be right, others are decoded in their turn.
	Gzip bool
	// Warn, if not nil, is told the first failure of each cause. It is called from
	// several goroutines.
	Warn func(error)
}

const (
	defaultTimeout = 10 * time.Second
	maxBody        = 64 << 20
	minPause       = 10 * time.Millisecond
	maxPause       = time.Second
	driverHTTP     = "http"
)

// Run implements Load. It returns an error if the fields make no sense.
func (h *HTTP) Run(ctx context.Context, emit func(schemas.Row)) error {
	r, err := h.prepare()
	if err != nil {
		return fmt.Errorf("workload: http: %w", err)
	}
	begin, ok := h.begin(ctx)
	if !ok {
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() { // not here: behind 10,000 connections being opened, the first end would be missed
		for i := range h.Connections {
			c := &connection{run: r, recorder: &r.meter.recorders[i%len(r.meter.recorders)]}
			c.resp.KeepBodyBuffer = true
			wg.Go(func() { c.drive(ctx) })
		}
	})

	var rowErr error
	var wall, boot int64
	h.run(ctx, begin, wg.Wait, func(wallNS, bootNS, intervalNS int64) {
		wall, boot = wallNS, bootNS
		row, events, err := r.meter.row(wallNS, bootNS, intervalNS)
		switch {
		case err != nil:
			rowErr = errors.Join(rowErr, err)
		case events > 0 || intervalNS >= h.step()/2:
			emit(row)
		}
	})
	for _, t := range append(r.meter.totals(),
		total{"unanswered", "request", float64(r.unanswered.Load())},
		total{"unanswered_wait_max", "s", time.Duration(r.longestWait.Load()).Seconds()},
		total{"connections_opened", "connection", float64(r.opened.Load())},
	) {
		emit(r.meter.summaryRow(t, wall, boot, boot-begin))
	}
	return rowErr
}

// prepare checks the fields and returns what the connections share.
func (h *HTTP) prepare() (*httpRun, error) {
	u, err := url.Parse(h.URL)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" || u.Hostname() == "":
		return nil, fmt.Errorf("%q is no http URL", h.URL)
	case h.Connections < 1:
		return nil, fmt.Errorf("%d connections", h.Connections)
	case h.Timeout < 0 || h.Timeout > maxLatency:
		return nil, fmt.Errorf("time-out of %v: must be within %v", h.Timeout, maxLatency)
	case h.Interval < 0:
		return nil, fmt.Errorf("interval of %v", h.Interval)
	}
	r := &httpRun{timeout: h.Timeout, warn: h.Warn, meter: newMeter(driverHTTP, "request", h.Connections)}
	if r.timeout == 0 {
		r.timeout = defaultTimeout
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	r.addr = net.JoinHostPort(u.Hostname(), port)
	if h.Want != nil {
		r.want.Store(&h.Want)
	}
	req, err := http.NewRequest(http.MethodGet, h.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "steady")
	if h.Gzip {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	var b bytes.Buffer
	if err := req.Write(&b); err != nil {
		return nil, err
	}
	r.request = b.Bytes()
	return r, nil
}

// httpRun is what the connections of a run share.
type httpRun struct {
	addr    string
	request []byte // as it is written
	timeout time.Duration
	meter   *meter
	warn    func(error)
	warned  [failures]sync.Once

	want   atomic.Pointer[[]byte] // the body expected; nil before the first answer
	zipped atomic.Pointer[[]byte] // a compressed body known to decode to it

	opened      atomic.Int64 // connections
	unanswered  atomic.Int64 // requests, when the run ended
	longestWait atomic.Int64 // ns, of those
}

// right reports whether the answer's body is the one expected.
func (r *httpRun) right(resp *fasthttp.Response) bool {
	switch encoding := resp.Header.ContentEncoding(); string(encoding) {
	case "":
		return r.rightPlain(resp.Body())
	case "gzip":
		if known := r.zipped.Load(); known != nil && bytes.Equal(*known, resp.Body()) {
			return true
		}
		plain, err := resp.BodyGunzipWithLimit(maxBody)
		if err != nil || !r.rightPlain(plain) {
			return false
		}
		known := bytes.Clone(resp.Body())
		r.zipped.Store(&known)
		return true
	}
	return false
}

func (r *httpRun) rightPlain(plain []byte) bool {
	want := r.want.Load()
	if want == nil {
		first := bytes.Clone(plain)
		r.want.CompareAndSwap(nil, &first)
		want = r.want.Load()
	}
	return bytes.Equal(*want, plain)
}

// connection is one of the load's connections, opened anew when it is lost.
type connection struct {
	run      *httpRun
	recorder *recorder
	conn     net.Conn // nil: none is open
	unwatch  func() bool
	br       *bufio.Reader
	resp     fasthttp.Response
}

// drive asks until ctx ends.
func (c *connection) drive(ctx context.Context) {
	defer c.close()
	var pause time.Duration
	for ctx.Err() == nil {
		if c.conn == nil {
			if pause > 0 && !sleep(ctx, pause) {
				return
			}
			if err := c.open(ctx); err != nil {
				if ctx.Err() == nil {
					c.fail(connect, err)
				}
				pause = min(max(2*pause, minPause), maxPause)
				continue
			}
		}
		start := time.Now()
		err := c.ask(start)
		latency := time.Since(start)
		switch {
		case err == nil:
			pause = 0
			c.judge(latency)
			if c.resp.ConnectionClose() {
				c.close()
			}
		case ctx.Err() != nil: // the end closes the connection: no failure of the server's
			c.run.leave(latency)
			return
		default:
			c.fail(c.cause(err), err)
			c.close()
			pause = min(max(2*pause, minPause), maxPause)
		}
	}
}

func (c *connection) open(ctx context.Context) error {
	d := net.Dialer{Timeout: c.run.timeout}
	conn, err := d.DialContext(ctx, "tcp", c.run.addr)
	if err != nil {
		return err
	}
	c.run.opened.Add(1)
	c.conn = conn
	// Closing wakes the reader at once, and no later deadline can undo it.
	c.unwatch = context.AfterFunc(ctx, func() { conn.Close() })
	if c.br == nil {
		c.br = bufio.NewReader(conn)
	} else {
		c.br.Reset(conn)
	}
	return nil
}

func (c *connection) close() {
	if c.conn != nil {
		c.unwatch()
		c.conn.Close()
		c.conn = nil
	}
}

// ask writes the request and reads the answer into c.resp.
func (c *connection) ask(start time.Time) error {
	err := c.conn.SetDeadline(start.Add(c.run.timeout))
	if err == nil {
		_, err = c.conn.Write(c.run.request)
	}
	if err != nil {
		c.resp.Header.Reset() // the last answer's
		return err
	}
	return c.resp.ReadLimitBody(c.br, maxBody)
}

// judge counts the complete answer in c.resp.
func (c *connection) judge(latency time.Duration) {
	switch code := c.resp.StatusCode(); {
	case code < 200 || code > 299:
		c.fail(status, fmt.Errorf("status %d", code))
	case !c.run.right(&c.resp):
		c.fail(body, fmt.Errorf("a body of %d bytes is not the one expected", len(c.resp.Body())))
	default:
		c.recorder.done(int64(latency), int64(len(c.resp.Body())))
	}
}

// cause tells which failure an error of ask is.
func (c *connection) cause(err error) failure {
	var late net.Error
	switch {
	case errors.Is(err, fasthttp.ErrTimeout), errors.As(err, &late) && late.Timeout():
		return timedOut
	case c.resp.Header.ContentLength() != 0: // a header that was not read whole is left empty
		return body
	}
	return broken
}

func (c *connection) fail(why failure, err error) {
	c.recorder.fail(why)
	if r := c.run; r.warn != nil {
		r.warned[why].Do(func() { r.warn(fmt.Errorf("workload: http: %s: %v: %w", r.addr, why, err)) })
	}
}

// leave counts a request that the end left unanswered.
func (r *httpRun) leave(waited time.Duration) {
	r.unanswered.Add(1)
	for {
		longest := r.longestWait.Load()
		if int64(waited) <= longest || r.longestWait.CompareAndSwap(longest, int64(waited)) {
			return
		}
	}
}
