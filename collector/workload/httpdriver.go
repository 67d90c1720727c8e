package workload

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// HTTPWorkload is workload "http": the closed-loop load HTTP on the server Serve, both
// of steady's own, which any host has.
type HTTPWorkload struct {
	Connections int  `yaml:"connections"`
	Gzip        bool `yaml:"gzip"` // compress every answer
}

// NewHTTP is the driver of HTTPWorkload.
func NewHTTP(decode func(any) error) (Workload, error) {
	w := &HTTPWorkload{Connections: 20}
	if err := decode(w); err != nil {
		return nil, err
	}
	if w.Connections < 1 {
		return nil, fmt.Errorf("connections: %d: want 1 or more", w.Connections)
	}
	return w, nil
}

// Params implements Workload.
func (w *HTTPWorkload) Params() map[string]any {
	return map[string]any{"connections": w.Connections, "gzip": w.Gzip, "body_bytes": len(Body()), "loop": "closed"}
}

// Check implements Workload: nothing can be lacking.
func (w *HTTPWorkload) Check(context.Context) []Problem { return nil }

// Needs implements Workload.
func (w *HTTPWorkload) Needs() time.Duration { return 700 * time.Millisecond }

// Start implements Workload.
func (w *HTTPWorkload) Start(ctx context.Context, env *Env) (*Session, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("workload: http: %w", err)
	}
	args := []string{"workload", "http-server"}
	for _, c := range env.Server {
		args = append(args, "--cpus", strconv.Itoa(c))
	}
	if w.Gzip {
		args = append(args, "--gzip")
	}
	server, addr, err := StartServer(ctx, exe, args)
	if err != nil {
		return nil, err
	}
	return &Session{
		Watch: []Watch{{Name: "server", PID: server.PID}},
		Stop:  server.Stop,
		Job: func(start int64) Job {
			return &Timed{StartBootNS: start, Phases: []Phase{{Name: "warmup", Duration: env.Warmup}, {Name: "measure", Duration: env.Measure}},
				Load: &HTTP{Schedule: Schedule{StartBootNS: start, Interval: env.Interval}, URL: "http://" + addr + "/", Connections: w.Connections,
					Want: Body(), Gzip: w.Gzip, Warn: env.Warn}}
		}}, nil
}
