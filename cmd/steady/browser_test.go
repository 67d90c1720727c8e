package main

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// ownRequest is the browser's question for its own updates, which no flag ends.
var ownRequest = regexp.MustCompile(`^(CONNECT update\.googleapis\.com:443|POST http://update\.googleapis\.com/service/update2/)`)

// browse opens a page in a headless browser and returns its document after scripts
// ran, what it wrote to the console, and what the page asked of the
// network.
func browse(t *testing.T, page string) (dom string, console, asked []string) {
	t.Helper()
	browser := tool(t, "chromium", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
	// Whatever it asks of any host comes here, and gets nothing.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	requests, heard := make(chan string, 1000), make(chan struct{})
	go func() {
		defer close(heard)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.SetReadDeadline(time.Now().Add(time.Second))
			line, _ := bufio.NewReader(c).ReadString('\n')
			requests <- strings.TrimSpace(line)
			c.Close()
		}
	}()
	abs, err := filepath.Abs(page)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(),
		"--disable-features=NetworkTimeServiceQuerying,OptimizationHints,MediaRouter,Translate", "--gaia-url=http://127.0.0.1:1",
		"--proxy-server="+l.Addr().String(), "--proxy-bypass-list=<-loopback>", "--enable-logging=stderr", "--v=0", "--dump-dom", "file://"+abs)
	if code := p.wait(t, time.Minute); code != 0 {
		t.Fatalf("the browser: exit %d", code)
	}
	for _, line := range strings.Split(p.stderr.String(), "\n") {
		if strings.Contains(line, ":CONSOLE") {
			console = append(console, line)
		}
	}
	l.Close()
	<-heard
	close(requests)
	for r := range requests {
		if !ownRequest.MatchString(r) {
			asked = append(asked, r)
		}
	}
	return p.stdout.String(), console, asked
}

// TestBrowserSeesTrouble shows that what TestReportInABrowser looks for can be seen.
func TestBrowserSeesTrouble(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(page, []byte(`<img src="http://127.0.0.1:8080/x.png"><p id=p></p><script>p.append('made', ' here'); nosuch()</script>`), 0o644); err != nil {
		t.Fatal(err)
	}
	dom, console, asked := browse(t, page)
	if !strings.Contains(dom, "made here") || len(console) == 0 || len(asked) == 0 {
		t.Errorf("console %q, asked %q, document\n%s", console, asked, dom)
	}
}

func TestReportInABrowser(t *testing.T) {
	made := t.TempDir()
	build(t, made, together(
		runsOf("kernels", "baseline", 0, 3, 5, 1000, 1004, 997),
		runsOf("kernels", "tuned", 1, 3, 5, 1101, 1097, 1103),
		runsOf("kernels", "debug", 2, 3, 5, 900, 905, 898))...)
	must(t, "report", "kernels", "--data", made)
	for _, tt := range []struct {
		name, page string
		want       []string
	}{
		{"made by hand", filepath.Join(made, "experiments", "kernels", "report.html"), []string{"baseline", "tuned", "debug", "better", "worse", "http", "6.12.0-tuned", "workload.throughput"}},
		{"of the demo", filepath.Join(demoData(t), "experiments", demoExperiment, "report.html"), []string{"baseline", "twin", "gzip", "undecided", "http-static_connections-4"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dom, console, asked := browse(t, tt.page)
			if len(console) > 0 {
				t.Errorf("console: %s", strings.Join(console, "\n"))
			}
			if len(asked) > 0 {
				t.Errorf("it asked the network: %q", asked)
			}
			text := regexp.MustCompile(`(?s)<(style|script)[^>]*>.*?</(style|script)>`).ReplaceAllString(dom, "")
			for _, w := range tt.want {
				if !strings.Contains(text, w) {
					t.Errorf("the document doesn't say %q", w)
				}
			}
			if strings.Contains(text, "NaN") || strings.Contains(text, "undefined") {
				t.Error("the document says NaN or undefined")
			}
		})
	}
}
