// Command steady collects, keeps and judges measurements of operating systems and
// servers. This package wires the others together: flags, printing, exit codes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// Exit codes.
const (
	exitDone      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitWorse     = 3 // with --gate: worse, or drift; check: a figure is impossible
	exitUndecided = 4 // with --gate
	exitBadData   = 5 // with --gate: data not good enough
)

// exitError ends the command with a code of its own.
type exitError struct {
	code int
	err  error // nil: all is said
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as wrong use.
func usage(format string, v ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, v...)}
}

// app is what every command needs.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	mu     sync.Mutex
	onLine func() // clears a progress bar before a line is printed
}

// run is the command: results on stdout, everything else on stderr.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	code := exitFailed
	var e *exitError
	if errors.As(err, &e) {
		code = e.code
	} else if _, _, e := root.Find(args); e != nil { // an unknown command is wrong use too
		code = exitUsage
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(stderr, "steady: %s\n", text)
	}
	return code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "steady",
		Short:         "collect, keep and judge measurements of operating systems and servers",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%s: %w: see %s --help", c.CommandPath(), err, c.CommandPath())
	})
	root.SetVersionTemplate("steady {{.Version}}\n")
	root.AddCommand(a.demo(), a.collect(), a.ingest(), a.seal(), a.analyze(), a.report(),
		a.drift(), a.check(), a.importFiles(), a.run(), a.simulate(), a.ls(), a.show(), a.exclude(), a.schema(), a.workload())
	return root
}

// args checks the number of arguments and names what is wrong.
func args(n int) cobra.PositionalArgs { return between(n, n) }

// atLeast is args where any number above will do.
func atLeast(n int) cobra.PositionalArgs { return between(n, math.MaxInt) }

// between is args where the number may vary.
func between(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, got []string) error {
		if len(got) >= least && len(got) <= most {
			return nil
		}
		want := fmt.Sprint(least)
		switch {
		case most == math.MaxInt:
			want += " or more"
		case most > least:
			want += fmt.Sprintf(" to %d", most)
		}
		return usage("%s: %d arguments, want %s: usage: %s", c.CommandPath(), len(got), want, c.UseLine())
	}
}

// warn prints a warning, above a progress bar if there is one.
func (a *app) warn(err error) { a.say("warning: %v", err) }

// say prints a line for the user.
func (a *app) say(format string, v ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.onLine != nil {
		a.onLine()
	}
	fmt.Fprintf(a.stderr, "steady: "+format+"\n", v...)
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development"
	}
	return info.Main.Version
}

// dataFlag adds --data.
func dataFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "data", "data", "data directory")
}

// jsonFlag adds --json.
func jsonFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "json", false, "print JSON on standard output")
}

// shortly returns a context that outlives ctx by d, for what has to be put away.
func shortly(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}
