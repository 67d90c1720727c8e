package procfs

import (
	"bytes"

	"github.com/steadybench/steady/schemas"
)

// netSpeed is the first column of net that is not in /proc/net/dev.
var netSpeed = schemas.Net.Column("speed_bit_per_s")

func netDevParser(*host) parser {
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return parseNetDev(&blocks[0], files[0].text, bad)
	}
}

// parseNetDev fills net from the text of /proc/net/dev (proc_pid_net(5)), whose two
// lines of headings have bars.
//
// An interface's name ends at the last colon of its line: the numbers have none, while
// a name may (aliases on old kernels), and the first number may follow the colon
// without a blank.
func parseNetDev(net *schemas.Block, text []byte, bad *skips) error {
	const name = "net/dev"
	all := netSpeed
	net.Resize(countLines(text))
	l := lines{text: text}
	row := 0
	for line, ok := l.next(); ok; line, ok = l.next() {
		if bytes.IndexByte(line, '|') >= 0 {
			continue
		}
		device, s, f := netName(line)
		if f.why == "" {
			if _, f = numbers(net, row, 0, all, s); f.why == "" {
				net.SetDevice(row, device)
				row++
				continue
			}
			forget(net, row, 0, all)
		}
		if l.n == 1 {
			return f.in(name, 1)
		}
		bad.add(name, l.n, f)
		if len(device) > 0 {
			net.SetDevice(row, device)
			row++
		}
	}
	if l.n == 0 {
		return fault{text, "no whole line"}.in(name, 1)
	}
	l.end(name, bad)
	trim(net, row)
	return nil
}

// netName returns the interface of a line and what follows its colon.
func netName(line []byte) (name, rest []byte, f fault) {
	colon := bytes.LastIndexByte(line, ':')
	if colon < 0 {
		return nil, line, fault{bytes.TrimSpace(line), "no colon after a name"}
	}
	name, more := word(line[:colon])
	if len(name) == 0 || len(more) > 0 {
		return nil, line, fault{line[:colon], "not one name"}
	}
	return name, line[colon+1:], fault{}
}
