package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/ingest"
)

// natsFlags say which server to use.
type natsFlags struct {
	url    string
	listen string
	bytes  int64
}

func (f *natsFlags) add(c *cobra.Command, embedded bool) {
	c.Flags().StringVar(&f.url, "nats", "", "URL of a running nats-server with JetStream (nats://HOST:4222)")
	if embedded {
		c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:0", "address of the embedded server, where --nats is not given")
		c.Flags().Int64Var(&f.bytes, "stream-bytes", bus.DefaultStreamBytes, "limit of the stream, where it has to be made")
	}
}

// connect returns a connection to the server asked for, or to one embedded here.
func (a *app) connect(f natsFlags, data, name string) (*bus.Conn, func(), error) {
	if f.url != "" {
		c, err := bus.Connect(f.url, name, false)
		if err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	}
	host, text, err := net.SplitHostPort(f.listen)
	port, e := strconv.Atoi(text)
	if err != nil || e != nil || port < 0 || port > 65535 {
		return nil, nil, usage("--listen %q: want HOST:PORT", f.listen)
	}
	s, err := bus.StartServer(bus.ServerOptions{Dir: filepath.Join(data, "jetstream"), Host: host, Port: port, Warn: a.warn})
	if err != nil {
		return nil, nil, err
	}
	c, err := bus.Connect(s.URL(), name, false)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return c, func() { c.Close(); s.Close() }, nil
}

func (a *app) ingest() *cobra.Command {
	var f natsFlags
	var data string
	o := ingest.Options{}
	c := &cobra.Command{
		Use:   "ingest",
		Short: "turn the stream into Parquet, a folder a run",
		Long: `Reads the stream of the nats-server at --nats (without it, of a server embedded here,
which collectors reach at --listen), keeps runs still going on in DATA/live, and makes
a folder in DATA/runs of each run that is over. Ends on SIGINT or SIGTERM within two
seconds and keeps what it has; killed at any moment and started again, it makes the
same folders.`,
		Args: args(0),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := ingest.OpenStore(data, a.warn)
			if err != nil {
				return err
			}
			defer s.Close()
			conn, done, err := a.connect(f, data, "steady ingest")
			if err != nil {
				return err
			}
			defer done()
			a.say("ingest: %s to %s", conn.URL(), data)
			o.StreamBytes, o.Warn, o.Sealed = f.bytes, a.warn, a.sealed
			return ingest.Run(c.Context(), conn, s, o)
		},
	}
	f.add(c, true)
	dataFlag(c, &data)
	c.Flags().DurationVar(&o.FlushEvery, "flush", o.FlushEvery, "how long rows may wait in memory (0: 10s, more as a run gets older)")
	c.Flags().DurationVar(&o.Silence, "silence", o.Silence, "end a run as incomplete after so long without a word (0: 10m)")
	c.Flags().IntVar(&o.Replicas, "replicas", 1, "replicas of the stream, where it has to be made in a cluster")
	return c
}

func (a *app) seal() *cobra.Command {
	var f natsFlags
	var data string
	c := &cobra.Command{
		Use:   "seal RUN-ID",
		Short: "make a folder of what there is of a run still in DATA/live",
		Long: `Makes the folder of a run whose producers are gone, from what is in DATA/live, with
status incomplete. With --nats its messages are removed from the stream as well; a
stream that still holds them would bring the run back to live.`,
		Args: args(1),
		RunE: func(c *cobra.Command, arg []string) error {
			s, err := ingest.OpenStore(data, a.warn)
			if err != nil {
				return err
			}
			defer s.Close()
			dir, m, err := s.Finish(arg[0], "sealed by hand")
			if err != nil {
				if len(s.Live()) > 0 {
					err = fmt.Errorf("%w (in live: %v)", err, s.Live())
				}
				return err
			}
			if f.url == "" {
				if err := s.Forget(arg[0]); err != nil {
					return err
				}
			} else {
				conn, err := bus.Connect(f.url, "steady seal", false)
				if err != nil {
					return err
				}
				defer conn.Close()
				if err := ingest.Settle(c.Context(), conn, s, arg[0]); err != nil {
					return err
				}
			}
			a.sealed(dir, m)
			return nil
		},
	}
	f.add(c, false)
	dataFlag(c, &data)
	return c
}

// startIngest runs ingest beside what the caller does. stop ends it, waits, and
// returns its error; failed is closed if it ends by itself.
func (a *app) startIngest(ctx context.Context, conn *bus.Conn, s *ingest.Store, o ingest.Options) (stop func() error, failed <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := make(chan error, 1)
	dead := make(chan struct{})
	go func() {
		err := ingest.Run(ctx, conn, s, o)
		if ctx.Err() == nil {
			close(dead)
		}
		end <- err
	}()
	return func() error {
		cancel()
		return <-end
	}, dead
}
