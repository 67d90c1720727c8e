package workload

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestBody(t *testing.T) {
	text := Body()
	z := zippers.New().(*zipper)
	zipped := bytes.Clone(z.zip(text))
	if len(text) != 1024 || len(zipped) < 300 || len(zipped) > 700 {
		t.Errorf("%d bytes, compressed %d", len(text), len(zipped))
	}
	if !bytes.Equal(z.zip(text), zipped) {
		t.Error("compressed twice, it differs")
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(r); err != nil || !bytes.Equal(plain, text) {
		t.Errorf("decoded to %d bytes, %v", len(plain), err)
	}
}

func TestAcceptsGzip(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "gzip": true, "br, GZIP": true, "br,gzip;q=0.5": true, "gzip; q=0": false, "gzip;q=x": false,
		"x-gzip2": false, "identity": false,
	} {
		if got := acceptsGzip(accept); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}

func TestServeOnATakenPort(t *testing.T) {
	addr := listen(t, func(net.Conn) {})
	err := Serve(t.Context(), ServerOptions{Addr: addr}, func(string) { t.Error("ready") })
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
	t.Setenv(roleEnv, "server")
	_, _, err = StartServer(t.Context(), os.Args[0], []string{addr})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
}

// waitGone waits until nobody listens on addr: each connection to it is held until it
// is ended from there.
func waitGone(t *testing.T, addr string) {
	t.Helper()
	for {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		_, err = c.Read(make([]byte, 1))
		c.Close()
		if late, ok := err.(net.Error); ok && late.Timeout() {
			t.Errorf("%s is still there", addr)
			return
		}
	}
}

func TestStopLeavesNothing(t *testing.T) {
	for _, role := range []string{"server", "stubborn", "leader"} {
		t.Run(role, func(t *testing.T) {
			p, addr := startRole(t, role, "127.0.0.1:0")
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
			waitGone(t, addr)
			if err := p.Stop(); err != nil {
				t.Errorf("stopped again: %v", err)
			}
		})
	}
}

func TestServerDiesWithItsParent(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	waitGone(t, strings.TrimSpace(addr))
}

func TestServerThatDoesNotStart(t *testing.T) {
	if _, _, err := StartServer(t.Context(), "/nonexistent", nil); err == nil {
		t.Error("no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Setenv(roleEnv, "mute")
	if _, _, err := StartServer(ctx, os.Args[0], nil); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Error(err)
	}
}

func TestServerThatEndsByItself(t *testing.T) {
	t.Setenv(roleEnv, "brief")
	p, _, err := StartServer(t.Context(), os.Args[0], nil)
	if err == nil {
		<-p.Done
		err = p.Stop()
	}
	if err == nil || !strings.Contains(err.Error(), "had enough") {
		t.Error(err)
	}
}

func TestAnnounced(t *testing.T) {
	a := &announced{addr: make(chan string, 1)}
	for _, s := range []string{"starting\nlist", "ening on 127.0", ".0.1:80\nlistening on x\n", "more\n"} {
		if n, err := io.WriteString(a, s); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if addr := <-a.addr; addr != "127.0.0.1:80" {
		t.Errorf("%q", addr)
	}
}
