package procfs

import (
	"bytes"
	"math"
	"strings"

	"github.com/steadybench/steady/schemas"
)

var (
	tcpMem = schemas.Sockets.Column("tcp_mem_bytes")
	udpMem = schemas.Sockets.Column("udp_mem_bytes")
)

func socketsParser(h *host) parser {
	page := h.page
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		blocks[0].Resize(1)
		for _, f := range files {
			if err := parseSockets(&blocks[0], f.name, f.text, page, bad); err != nil {
				return err
			}
		}
		return nil
	}
}

// parseSockets adds the text of /proc/net/sockstat or sockstat6 (proc_pid_net(5)),
// called name in errors, to sockets, which has been sized: "TCP: inuse 6 mem 379". page
// is the size of a page in bytes.
func parseSockets(sockets *schemas.Block, name string, text []byte, page int64, bad *skips) error {
	l := lines{text: text}
	for line, ok := l.next(); ok; line, ok = l.next() {
		proto, s, colon := bytes.Cut(line, []byte{':'})
		f := fault{}
		if !colon || len(proto) == 0 {
			f = fault{line, "no colon after a name"}
		}
		for key, s := word(s); f.why == "" && len(key) > 0; key, s = word(s) {
			var v uint64
			field := s
			if v, s, f = number(s); f.why == "" {
				field, _ = word(field)
				f = setSockets(sockets, proto, key, field, v, page)
			}
		}
		switch {
		case f.why == "":
		case l.n == 1:
			return f.in(name, 1)
		default:
			bad.add(name, l.n, f)
		}
	}
	if l.n == 0 {
		return fault{text, "no whole line"}.in(name, 1)
	}
	l.end(name, bad)
	return nil
}

// setSockets sets the column of a protocol's key, if there is one.
func setSockets(sockets *schemas.Block, proto, key, field []byte, v uint64, page int64) fault {
	for col := range sockets.Table.Columns {
		p, k, _ := strings.Cut(sockets.Table.Columns[col].Source, ":")
		if p != string(proto) || k != string(key) {
			continue
		}
		if sockets.Known[col] {
			return fault{field, "named twice"}
		}
		unit := uint64(1)
		if col == tcpMem || col == udpMem {
			unit = uint64(page)
		}
		if v > math.MaxInt64/unit {
			return fault{field, outOfRange}
		}
		sockets.Set(0, col, int64(v*unit))
	}
	return fault{}
}
