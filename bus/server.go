// Package bus is steady's only NATS code: the embedded server, the stream, publishing
// and consuming. It knows what a message is about, not what is in it.
package bus

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerOptions configure an embedded server.
type ServerOptions struct {
	// Dir holds the streams.
	Dir string
	// Host and Port are where it listens; an empty host is loopback, port 0 any free
	// one.
	Host string
	Port int
	// Warn is told the server's own warnings and errors; nil: nobody is.
	Warn func(error)
}

// A Server is a nats-server with JetStream inside this process.
type Server struct{ s *server.Server }

// StartServer starts a server and waits until it takes connections. It syncs every
// message to disk before it acknowledges it: by default an acknowledged message can
// be lost with the power for two minutes.
func StartServer(o ServerOptions) (*Server, error) {
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	addr := net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	// The server only logs that its port is taken; ask first, to say it clearly.
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("bus: embedded server: %w: choose another address with --listen, or use the running server with --nats", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("bus: embedded server: %w", err)
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "steady", Host: o.Host, Port: port,
		JetStream: true, StoreDir: o.Dir, SyncAlways: true,
		NoSigs: true, NoSystemAccount: false,
	})
	if err != nil {
		return nil, fmt.Errorf("bus: embedded server: %w", err)
	}
	log := &serverLog{warn: o.Warn}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("bus: embedded server: not ready in 20 s: %w", errors.Join(log.last, errors.New("look at "+o.Dir)))
	}
	return &Server{s: s}, nil
}

// URL returns where clients connect.
func (s *Server) URL() string { return s.s.ClientURL() }

// Close ends the server and waits until its files are closed.
func (s *Server) Close() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}

// serverLog hands the server's warnings and errors on and drops its chatter.
type serverLog struct {
	warn func(error)
	last error
}

func (l *serverLog) say(format string, v []any) {
	err := fmt.Errorf("nats-server: %s", strings.TrimSpace(fmt.Sprintf(format, v...)))
	l.last = err
	if l.warn != nil {
		l.warn(err)
	}
}

func (l *serverLog) Warnf(format string, v ...any)  { l.say(format, v) }
func (l *serverLog) Errorf(format string, v ...any) { l.say(format, v) }
func (l *serverLog) Fatalf(format string, v ...any) { l.say(format, v) }
func (l *serverLog) Noticef(string, ...any)         {}
func (l *serverLog) Debugf(string, ...any)          {}
func (l *serverLog) Tracef(string, ...any)          {}
