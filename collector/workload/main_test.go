package workload

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"syscall"
	"testing"
	"time"
)

// roleEnv makes the test binary another process of a test's.
const roleEnv = "STEADY_WORKLOAD_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		if err := roles[role](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goroutines, files := runtime.NumGoroutine(), openFiles()
	code := m.Run()
	if code == 0 {
		code = checkLeaks(goroutines, files)
	}
	os.Exit(code)
}

var roles = map[string]func(args []string) error{
	// A server as the command runs it.
	"server": func(args []string) error {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		return Serve(ctx, ServerOptions{Addr: args[0]}, Announce(os.Stdout))
	},
	// One that doesn't heed SIGTERM.
	"stubborn": func([]string) error {
		signal.Ignore(syscall.SIGTERM)
		return Serve(context.Background(), ServerOptions{Addr: "127.0.0.1:0"}, Announce(os.Stdout))
	},
	// A leader that leaves its work to a stubborn child and ends on SIGTERM itself.
	"leader": func([]string) error {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleEnv+"=stubborn")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	},
	"mute": func([]string) error {
		<-time.After(time.Hour)
		return nil
	},
	"brief": func([]string) error {
		Announce(os.Stdout)("127.0.0.1:1")
		return fmt.Errorf("had enough")
	},
	// One that starts a server and never gets to stop it.
	"parent": func([]string) error {
		os.Setenv(roleEnv, "server")
		_, addr, err := StartServer(context.Background(), os.Args[0], []string{"127.0.0.1:0"})
		if err != nil {
			return err
		}
		fmt.Println(addr)
		<-time.After(time.Hour)
		return nil
	},
}

// startRole starts the test binary as the role and stops it at the test's end.
func startRole(t testing.TB, role string, args ...string) (*Process, string) {
	t.Helper()
	t.Setenv(roleEnv, role)
	p, addr, err := StartServer(t.Context(), os.Args[0], args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop() })
	return p, addr
}

// checkLeaks waits until goroutines and files are those of the beginning again.
func checkLeaks(goroutines, files int) (code int) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 300 {
		if runtime.NumGoroutine() <= goroutines && openFiles() <= files {
			return 0
		}
		<-tick.C
	}
	fmt.Fprintf(os.Stderr, "leak: %d goroutines, %d before; %d files, %d before\n",
		runtime.NumGoroutine(), goroutines, openFiles(), files)
	pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
	return 1
}

// openFiles counts open files, but for the runtime's own two of its poller.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to != "anon_inode:[eventpoll]" && to != "anon_inode:[eventfd]" {
			n++
		}
	}
	return n
}

// listen returns a listener on a free port, whose connections serve gets; all are
// closed at the test's end.
func listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}
