// Command cost measures what collecting a host's figures once a second costs: steady
// beside sysstat, Prometheus's node_exporter, netdata and PCP, on this host. The
// contenders run in turns, each alone for some seconds while the others are stopped, in
// rounds whose order rotates: what disturbs the host meets all alike.
//
//	go run ./collector/cost                        five rounds of 20 s, a quarter of an hour
//	go run ./collector/cost -rounds 9 -json
//
// It is measured from outside, and what is not on the host is left out and named. It
// exits with 1 if something fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fl := flag.NewFlagSet("cost", flag.ContinueOnError)
	fl.SetOutput(stderr)
	b := &bench{say: func(format string, v ...any) { fmt.Fprintf(stderr, format+"\n", v...) }}
	fl.IntVar(&b.rounds, "rounds", 5, "how often each contender has its turn")
	fl.DurationVar(&b.turn, "for", 20*time.Second, "how long a turn is measured")
	fl.DurationVar(&b.settle, "settle", 3*time.Second, "how long a turn goes on before it is measured")
	fl.DurationVar(&b.warm, "warm", 20*time.Second, "how long all run before the first round")
	fl.StringVar(&b.steady, "steady", "", "the steady to be measured (default: it is built)")
	only := fl.String("only", "", "contenders, by commas (default: all)")
	asJSON := fl.Bool("json", false, "print JSON")
	if err := fl.Parse(args); err != nil {
		return 2
	}
	chosen, err := choose(*only)
	if err == nil && (fl.NArg() > 0 || b.rounds < 1 || b.turn < time.Second) {
		err = errors.New("want -rounds 1 or more, -for 1s or more, and no arguments")
	}
	if err != nil {
		fmt.Fprintln(stderr, "cost:", err)
		return 2
	}
	if err := b.run(ctx, chosen); err != nil {
		fmt.Fprintln(stderr, "cost:", err)
		return 1
	}
	if *asJSON {
		err = b.writeJSON(stdout)
	} else {
		err = b.writeText(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "cost:", err)
		return 1
	}
	return 0
}

// choose returns the contenders of these names.
func choose(only string) ([]contender, error) {
	if only == "" {
		return contenders, nil
	}
	var out []contender
	var known []string
	for _, c := range contenders {
		known = append(known, c.name)
		for _, n := range strings.Split(only, ",") {
			if strings.TrimSpace(n) == c.name {
				out = append(out, c)
			}
		}
	}
	if n := strings.Count(only, ",") + 1; len(out) != n {
		return nil, fmt.Errorf("-only %q: %d of %d are known: there are %s", only, len(out), n, strings.Join(known, ", "))
	}
	return out, nil
}

// bench measures.
type bench struct {
	rounds             int
	turn, settle, warm time.Duration
	steady             string
	say                func(format string, v ...any)

	dir       string
	hierarchy hierarchy
	counted   bool // the hierarchy is there
	nats      *group
	url       string
	began     time.Time
	entries   []*entry
}

// entry is a contender that runs, or why it does not.
type entry struct {
	contender
	absent string
	group  *group
	beside func(context.Context)
	turns  []turn
}

// turn is what one turn of a contender came to.
type turn struct {
	used
	memory
	processes int
	busy      float64 // of all CPUs, by whomever, in %
}

// run measures the contenders. It leaves nothing behind.
func (b *bench) run(ctx context.Context, chosen []contender) (err error) {
	if b.dir, err = os.MkdirTemp("", "steady-cost-"); err != nil {
		return err
	}
	defer func() {
		var errs []error
		for _, e := range b.entries {
			if e.group != nil {
				errs = append(errs, e.group.end())
			}
		}
		if b.nats != nil {
			errs = append(errs, b.nats.end())
		}
		err = errors.Join(err, errors.Join(errs...), reap(), os.RemoveAll(b.dir))
	}()
	if err := adopt(); err != nil {
		return err
	}
	if b.hierarchy, b.counted = findHierarchy(); !b.counted {
		b.say("cost: no control group can be made here: CPU time of threads that end is lost")
	}
	b.began = time.Now()
	for i, c := range chosen {
		if err := b.start(i, c); err != nil {
			return err
		}
	}
	if err := b.warmUp(ctx); err != nil {
		return err
	}
	var running []*entry
	for _, e := range b.entries {
		if e.group != nil {
			running = append(running, e)
		}
	}
	for round := range b.rounds {
		for i := range running {
			e := running[(round+i)%len(running)]
			t, err := b.measure(ctx, e)
			if err != nil {
				return err
			}
			e.turns = append(e.turns, t)
			b.say("cost: round %d of %d: %s: %.3f ms a second", round+1, b.rounds, e.name, float64(t.cpuNS)/1e6/t.seconds)
		}
	}
	return nil
}

// start starts a contender, or notes why it can't be.
func (b *bench) start(i int, c contender) error {
	e := &entry{contender: c}
	b.entries = append(b.entries, e)
	dir := filepath.Join(b.dir, fmt.Sprintf("c%d", i))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	p, err := c.plan(b, dir)
	if m := missing(""); errors.As(err, &m) {
		e.absent = err.Error()
		b.say("cost: without %s: %s", c.name, e.absent)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	e.beside = p.beside
	e.group, err = start(b.hierarchy, b.counted, dir, p.env, p.argv)
	return err
}

// warmUp lets all run for a while, and then stops them.
func (b *bench) warmUp(ctx context.Context) error {
	b.say("cost: %d contenders run for %s, then %d rounds of %s each", len(b.entries), b.warm, b.rounds, b.turn)
	besides, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, e := range b.entries {
		if e.group != nil && e.beside != nil {
			go e.beside(besides)
		}
	}
	if err := sleep(ctx, b.warm); err != nil {
		return err
	}
	for _, e := range b.entries {
		if e.group == nil {
			continue
		}
		if err := e.living(); err != nil {
			return err
		}
		if err := e.group.signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	if b.nats != nil {
		return b.nats.signal(syscall.SIGSTOP)
	}
	return nil
}

// living is an error if the contender has ended, with what it said.
func (e *entry) living() error {
	if e.group.alive() {
		return nil
	}
	text, _ := os.ReadFile(e.group.cmd.Stdout.(*os.File).Name()) // nothing said
	return fmt.Errorf("%s has ended: %.2000s", e.name, text)
}

// measure lets one contender run, and the server if it is steady, and measures it.
func (b *bench) measure(ctx context.Context, e *entry) (t turn, err error) {
	groups := []*group{e.group}
	if b.nats != nil && strings.HasPrefix(e.name, "steady") {
		groups = append(groups, b.nats)
	}
	for _, g := range groups {
		defer func() { err = errors.Join(err, g.signal(syscall.SIGSTOP)) }()
		if err := g.signal(syscall.SIGCONT); err != nil {
			return t, err
		}
	}
	if e.beside != nil {
		besides, cancel := context.WithCancel(ctx)
		defer cancel()
		go e.beside(besides)
	}
	if err := sleep(ctx, b.settle); err != nil {
		return t, err
	}
	machine := machineTicks()
	before, err := e.group.snapshot()
	if err != nil {
		return t, err
	}
	if err := sleep(ctx, b.turn); err != nil {
		return t, err
	}
	after, err := e.group.snapshot()
	if err != nil {
		return t, err
	}
	t.used, t.busy = after.since(before), machine.busySince(machineTicks())
	if t.memory, err = e.group.memory(); err != nil {
		return t, err
	}
	pids, err := e.group.pids()
	t.processes = len(pids)
	return t, errors.Join(err, e.living())
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
