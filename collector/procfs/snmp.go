package procfs

import (
	"bytes"

	"github.com/steadybench/steady/schemas"
)

func netProtoParser(*host) parser {
	snmp, netstat := newHeadings(&schemas.NetProto), newHeadings(&schemas.NetProto)
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		blocks[0].Resize(1)
		for _, f := range files {
			h := snmp
			if f.name == "net/netstat" {
				h = netstat
			}
			if err := parseHeaded(&blocks[0], f.name, f.text, h, bad); err != nil {
				return err
			}
		}
		return nil
	}
}

func netProto6Parser(*host) parser {
	names := newNames(&schemas.NetProto6)
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return parseNamed(&blocks[0], "net/snmp6", ' ', "", files[0].text, names, bad)
	}
}

// parseHeaded adds the text of /proc/net/snmp or netstat (proc_pid_net(5)), called name
// in errors, to b, which has been sized, by the columns' Source: pairs of lines, of
// which the first has names and the second their numbers,
//
//	Udp: InDatagrams NoPorts
//	Udp: 1267 0
//
// are UdpInDatagrams and UdpNoPorts. Kernels differ in names and order.
func parseHeaded(b *schemas.Block, name string, text []byte, known *headings, bad *skips) error {
	l := lines{text: text}
	pair := 0
	for {
		heading, ok := l.next()
		if !ok {
			break
		}
		line, ok := l.next()
		if !ok {
			bad.add(name, l.n, fault{heading, "no line of numbers after it"})
			break
		}
		columns, f := known.of(pair, heading)
		pair++
		if f.why == "" {
			f = headedLine(b, heading, line, columns, name, l.n, bad)
		}
		switch {
		case f.why == "":
		case l.n == 2:
			return f.in(name, 1)
		default:
			bad.add(name, l.n, f)
		}
	}
	if pair == 0 {
		return fault{text, "no whole pair of lines"}.in(name, 1)
	}
	l.end(name, bad)
	return nil
}

// headedLine sets the columns of a line of numbers. A number that can't be read costs
// itself; a fault is the whole line's, which then sets nothing.
func headedLine(b *schemas.Block, heading, line []byte, columns []int, name string, n int, bad *skips) fault {
	proto, _ := word(heading)
	got, s := word(line)
	if !bytes.Equal(got, proto) {
		return fault{got, "not of the names before it"}
	}
	var field []byte
	for _, col := range columns {
		if field, s = word(s); len(field) == 0 {
			break
		}
		if col < 0 {
			continue
		}
		v, _, f := number(field)
		switch {
		case f.why != "":
		case b.Known[col]:
			f = fault{field, "named twice"}
		case !set(b, 0, col, v):
			f = fault{field, outOfRange}
		}
		if f.why != "" {
			bad.add(name, n, f)
		}
	}
	if more, _ := word(s); len(field) == 0 || len(more) > 0 {
		for _, col := range columns {
			if col >= 0 {
				forget(b, 0, col, col+1)
			}
		}
		return fault{line, "not a number for each name before it"}
	}
	return fault{}
}

// headings finds the columns of a file's lines of names, and remembers each line: a
// kernel writes the same ones at each reading.
type headings struct {
	columns map[string]int
	pairs   []pair
}

// pair is a line of names and the columns of the numbers below it, -1 for none.
type pair struct {
	heading []byte
	columns []int
}

func newHeadings(t *schemas.Table) *headings {
	h := &headings{columns: make(map[string]int)}
	for i := range t.Columns {
		h.columns[t.Columns[i].Source] = i
	}
	return h
}

// of returns the columns of the n-th line of names, from 0: "Udp: NoPorts" has that of
// UdpNoPorts.
func (h *headings) of(n int, heading []byte) ([]int, fault) {
	if n < len(h.pairs) && bytes.Equal(h.pairs[n].heading, heading) {
		return h.pairs[n].columns, fault{}
	}
	proto, s := word(heading)
	proto, ok := bytes.CutSuffix(proto, []byte{':'})
	if !ok || len(proto) == 0 {
		return nil, fault{heading, "no colon after a name"}
	}
	p := pair{heading: bytes.Clone(heading)}
	for field, s := word(s); len(field) > 0; field, s = word(s) {
		col, ok := h.columns[string(proto)+string(field)]
		if !ok {
			col = -1
		}
		p.columns = append(p.columns, col)
	}
	if p.columns == nil {
		return nil, fault{heading, "no names"}
	}
	for n >= len(h.pairs) {
		h.pairs = append(h.pairs, pair{})
	}
	h.pairs[n] = p
	return p.columns, fault{}
}
