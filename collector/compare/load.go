package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// startLoad has this program make load, as a process of its own so that its work does
// not delay our readings, until the returned function is called or we end.
func startLoad(dir string, stderr io.Writer) (stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	c := exec.Command(self, loadArg, dir)
	c.Stderr = stderr
	in, err := c.StdinPipe() // it ends with us
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	return func() error { return errors.Join(in.Close(), c.Wait()) }, nil
}

// loadArg is the argument by which this program becomes the load.
const loadArg = "make-load"

// makeLoad keeps all that sadc counts busy, moderately, until until has no more to
// read. Files go to dir.
func makeLoad(dir string, until io.Reader, stderr io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, until) // its end is the signal
		cancel()
	}()
	jobs := map[string]func(context.Context, string) error{
		"cpu": busyCPU, "disk": busyDisk, "files": busyFiles, "tasks": busyTasks, "memory": busyMemory, "pty": holdPTY,
		"tcp":  func(ctx context.Context, _ string) error { return busyTCP(ctx, "tcp4", "127.0.0.1:0") },
		"udp":  func(ctx context.Context, _ string) error { return busyUDP(ctx, "udp4", "127.0.0.1:0") },
		"tcp6": func(ctx context.Context, _ string) error { return busyTCP(ctx, "tcp6", "[::1]:0") },
		"udp6": func(ctx context.Context, _ string) error { return busyUDP(ctx, "udp6", "[::1]:0") },
		// Echo requests: type, code, checksum (the kernel's for ICMPv6), identifier, number.
		"icmp": func(ctx context.Context, _ string) error {
			return busyICMP(ctx, "ip4:icmp", "127.0.0.1", []byte{8, 0, 0xf7, 0xfd, 0, 1, 0, 1})
		},
		"icmp6": func(ctx context.Context, _ string) error {
			return busyICMP(ctx, "ip6:ipv6-icmp", "::1", []byte{128, 0, 0, 0, 0, 1, 0, 1})
		},
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for name, job := range jobs {
		wg.Go(func() {
			if err := job(ctx, dir); err != nil && ctx.Err() == nil {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(stderr, "load: no %s: %v\n", name, err)
			}
		})
	}
	wg.Wait()
	return 0
}

// each calls f every d until it fails or ctx is done.
func each(ctx context.Context, d time.Duration, f func(n int) error) error {
	t := time.NewTicker(d)
	defer t.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := f(n); err != nil {
				return err
			}
		}
	}
}

// busyCPU keeps half of the CPUs busy, three quarters of the time.
func busyCPU(ctx context.Context, _ string) error {
	var wg sync.WaitGroup
	for range max(1, runtime.NumCPU()/2) {
		wg.Go(func() {
			each(ctx, 20*time.Millisecond, func(int) error { // it has no error
				for began := time.Now(); time.Since(began) < 15*time.Millisecond; {
				}
				return nil
			})
		})
	}
	wg.Wait()
	return nil
}

// busyDisk writes a file through to the disk and reads it back from there.
func busyDisk(ctx context.Context, dir string) error {
	f, err := os.Create(filepath.Join(dir, "disk"))
	if err != nil {
		return err
	}
	defer f.Close()
	data := make([]byte, 256<<10)
	const pieces = 32
	return each(ctx, 50*time.Millisecond, func(n int) error {
		data[0] = byte(n)
		at := int64(n%pieces) * int64(len(data))
		if _, err := f.WriteAt(data, at); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return err
		}
		_, err := f.ReadAt(data, at)
		return err
	})
}

// busyFiles makes files and removes them.
func busyFiles(ctx context.Context, dir string) error {
	return each(ctx, 10*time.Millisecond, func(n int) error {
		path := filepath.Join(dir, fmt.Sprintf("file%d", n))
		if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
			return err
		}
		if n < 100 {
			return nil
		}
		return os.Remove(filepath.Join(dir, fmt.Sprintf("file%d", n-100)))
	})
}

// busyTasks starts programs.
func busyTasks(ctx context.Context, _ string) error {
	return each(ctx, 50*time.Millisecond, func(int) error { return exec.Command("true").Run() })
}

// busyMemory takes memory and gives it back.
func busyMemory(ctx context.Context, _ string) error {
	return each(ctx, 50*time.Millisecond, func(int) error {
		m, err := unix.Mmap(-1, 0, 8<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		for i := 0; i < len(m); i += os.Getpagesize() {
			m[i] = 1
		}
		return unix.Munmap(m)
	})
}

func holdPTY(ctx context.Context, _ string) error {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return f.Close()
}

// busyTCP opens connections to itself, sends over them, and tries a port where nobody
// listens.
func busyTCP(ctx context.Context, network, address string) error {
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				io.Copy(io.Discard, c) // until the other side closes
				c.Close()
			}()
		}
	}()
	nobody, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	nobody.Close()
	data := make([]byte, 64<<10)
	return each(ctx, 20*time.Millisecond, func(n int) error {
		if c, err := net.Dial(network, nobody.Addr().String()); err == nil {
			c.Close()
		}
		c, err := net.Dial(network, l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		if n%10 == 0 {
			return c.(*net.TCPConn).SetLinger(0) // it closes by a reset
		}
		for range 4 {
			if _, err := c.Write(data); err != nil {
				return err
			}
		}
		return nil
	})
}

// busyUDP sends datagrams to itself, to a socket that nobody reads and to a port where
// nobody listens.
func busyUDP(ctx context.Context, network, address string) error {
	l, err := net.ListenPacket(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		for b := make([]byte, 2048); ; {
			if _, _, err := l.ReadFrom(b); err != nil {
				return // closed
			}
		}
	}()
	nobody, err := net.ListenPacket(network, address)
	if err != nil {
		return err
	}
	nobody.Close()
	deaf, err := net.ListenPacket(network, address)
	if err != nil {
		return err
	}
	defer deaf.Close()
	if err := deaf.(*net.UDPConn).SetReadBuffer(4096); err != nil {
		return err
	}
	c, err := net.ListenPacket(network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	data := make([]byte, 1000)
	return each(ctx, 20*time.Millisecond, func(int) error {
		for range 8 {
			if _, err := c.WriteTo(data, l.LocalAddr()); err != nil {
				return err
			}
		}
		if _, err := c.WriteTo(data, deaf.LocalAddr()); err != nil {
			return err
		}
		_, err := c.WriteTo(data, nobody.LocalAddr())
		return err
	})
}

// busyICMP asks this host for echoes. It needs the right to open raw sockets.
func busyICMP(ctx context.Context, network, address string, message []byte) error {
	c, err := net.ListenPacket(network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	return each(ctx, 20*time.Millisecond, func(int) error {
		_, err := c.WriteTo(message, c.LocalAddr())
		return err
	})
}
