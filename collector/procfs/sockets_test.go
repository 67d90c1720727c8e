package procfs

import (
	"maps"
	"testing"

	"github.com/steadybench/steady/schemas"
)

func TestParseSockets(t *testing.T) {
	for _, tt := range []struct {
		name, v4, v6 string
		want         map[string]int64
		skipped      int64
		example, err string
	}{
		{name: "both families", v4: "sockets: used 19\nTCP: inuse 6 orphan 1 tw 2 alloc 7 mem 379\nUDP: inuse 3 mem 4\nUDPLITE: inuse 0\nRAW: inuse 5\nFRAG: inuse 8 memory 4096\n",
			v6: "TCP6: inuse 9\nUDP6: inuse 10\nUDPLITE6: inuse 0\nRAW6: inuse 11\nFRAG6: inuse 12 memory 13\n",
			want: map[string]int64{"used": 19, "tcp_inuse": 6, "tcp_orphan": 1, "tcp_tw": 2, "tcp_alloc": 7, "tcp_mem_bytes": 379 * 65536, "udp_inuse": 3, "udp_mem_bytes": 4 * 65536,
				"udplite_inuse": 0, "raw_inuse": 5, "frag_inuse": 8, "frag_bytes": 4096, "tcp6_inuse": 9, "udp6_inuse": 10, "udplite6_inuse": 0, "raw6_inuse": 11, "frag6_inuse": 12, "frag6_bytes": 13}},
		{name: "what is new", v4: "sockets: used 1 free 2\nMPTCP: inuse 3\nTCP: mem 1 new 5\n", v6: "NEW6: inuse 3\n",
			want: map[string]int64{"used": 1, "tcp_mem_bytes": 65536}},
		{name: "first line of the second file bad", v4: "sockets: used 1\n", v6: "\n", err: `procfs: v6: line 1: field "": no colon after a name`},
		{name: "bad lines", v4: "sockets: used 1\nTCP: inuse 5 tw x alloc 6\nUDP inuse 3\nUDP: inuse\nRAW: inuse -1\nFRAG: memory 9223372036854775808\nFRAG: inuse 1 inuse 2\nUDP: mem 140737488355328", v6: "TCP6: inuse 1\n",
			want: map[string]int64{"used": 1, "tcp_inuse": 5, "frag_inuse": 1, "tcp6_inuse": 1}, skipped: 7, example: `procfs: v4: line 2: field "x": not a number`},
		{name: "empty", v6: "TCP6: inuse 1\n", err: `procfs: v4: line 1: field "": no whole line`},
		{name: "first line bad", v4: "sockets: used x\nTCP: inuse 5\n", err: `procfs: v4: line 1: field "x": not a number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := schemas.Block{Table: &schemas.Sockets}
			b.Resize(1)
			var bad skips
			err := parseSockets(&b, "v4", []byte(tt.v4), 65536, &bad)
			if err == nil {
				err = parseSockets(&b, "v6", []byte(tt.v6), 65536, &bad)
			}
			if (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if err != nil {
				return
			}
			if bad.lines != tt.skipped || bad.example != tt.example {
				t.Errorf("skipped %d: %s, want %d: %s", bad.lines, bad.example, tt.skipped, tt.example)
			}
			if got := columns(&b); !maps.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
