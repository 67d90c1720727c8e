package workload

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ServerOptions are the options of Serve.
type ServerOptions struct {
	Addr string // to listen on; port 0 takes a free one
	// Gzip compresses every answer anew, as well as gzip can, for a client that accepts
	// it: a variant that honestly is slower and lighter in bytes.
	Gzip bool
}

// Body returns the answer of Serve: 1024 bytes of text, of which gzip saves about half.
func Body() []byte {
	words := strings.Fields(`latency throughput kernel socket buffer the of and with every
		request answer measured under load at rest interval second page cache miss hit
		queue depth wakes sleeps a thread core idle busy steal drops retries until done`)
	const size = 1024
	random := rand.New(rand.NewPCG(1, 2)) // the same text everywhere and always
	text := make([]byte, 0, size+16)
	for len(text) < size {
		text = append(text, words[random.IntN(len(words))]...)
		text = append(text, ' ')
	}
	text[size-1] = '\n'
	return text[:size]
}

// drainTime is how long requests in flight may take at the server's end.
const drainTime = 300 * time.Millisecond

// Serve answers every request with Body until ctx ends, which is no error. It calls
// ready with the address once it listens.
func Serve(ctx context.Context, opts ServerOptions, ready func(addr string)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opts.Addr)
	if err != nil {
		return fmt.Errorf("workload: server: %w", err)
	}
	server := &http.Server{Handler: handler(opts)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	ready(listener.Addr().String())
	select {
	case err := <-served:
		return fmt.Errorf("workload: server: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if server.Shutdown(drain) != nil { // a client is not done, and won't be waited for
		server.Close() // the listener is closed already
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("workload: server: %w", err)
	}
	return nil
}

func handler(opts ServerOptions) http.Handler {
	text := Body()
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "text/plain")
		answer := text
		if opts.Gzip {
			header.Set("Vary", "Accept-Encoding")
			if acceptsGzip(req.Header.Get("Accept-Encoding")) {
				z := zippers.Get().(*zipper)
				defer zippers.Put(z)
				answer = z.zip(text)
				header.Set("Content-Encoding", "gzip")
			}
		}
		header.Set("Content-Length", strconv.Itoa(len(answer)))
		w.Write(answer) // the client may be gone: that is its loss
	})
}

// acceptsGzip reports whether an Accept-Encoding header (RFC 9110, 12.5.3) names gzip,
// and not to refuse it.
func acceptsGzip(accept string) bool {
	for item := range strings.SplitSeq(accept, ",") {
		coding, params, _ := strings.Cut(item, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			weight, given := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
			q, err := strconv.ParseFloat(weight, 64)
			return !given || err == nil && q > 0
		}
	}
	return false
}

// zippers keeps compressors: a new one clears a megabyte, which is no work of gzip's.
var zippers = sync.Pool{New: func() any {
	z := new(zipper)
	z.w, _ = gzip.NewWriterLevel(&z.out, gzip.BestCompression) // the level exists
	return z
}}

type zipper struct {
	out bytes.Buffer
	w   *gzip.Writer
}

// zip returns text compressed; it is the zipper's until the next call.
func (z *zipper) zip(text []byte) []byte {
	z.out.Reset()
	z.w.Reset(&z.out)
	z.w.Write(text) // into memory: neither fails
	z.w.Close()
	return z.out.Bytes()
}
