package procfs

import (
	"maps"
	"os"
	"testing"

	"github.com/steadybench/steady/schemas"
)

func TestParseNFS(t *testing.T) {
	client, server := &schemas.NFSClient, &schemas.NFSServer
	for _, tt := range []struct {
		name    string
		table   *schemas.Table
		text    string
		want    map[string]int64
		skipped int64
		example string
		err     string
	}{
		{name: "client of versions 3 and 4", table: client,
			text: "net 1 2 3 4\nrpc 100 2 101\nproc2 3 1 2 3\nproc3 22 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n" +
				"proc4 36 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35\n",
			want: map[string]int64{"calls": 100, "retrans": 2, "auth_refresh": 101, "v2_ops": 6, "v3_ops": 231, "v4_ops": 630,
				"read": 6 + 1, "write": 7 + 2, "access": 4 + 17, "getattr": 1 + 18, "setattr": 2 + 9, "lookup": 3 + 19 + 20, "readlink": 5 + 28,
				"create": 8 + 9 + 10 + 11 + 24 + 25, "remove": 12 + 13 + 21, "rename": 14 + 22, "link": 15 + 23, "readdir": 16 + 17 + 29, "commit": 21 + 3,
				"open": 4 + 6, "close": 8, "lock": 14, "unlock": 16, "delegreturn": 31}},
		{name: "client before NFS version 4", table: client, text: "net 1 2 3 4\nrpc 100 2 101\nproc3 8 0 1 2 3 4 5 6 7\n",
			want: map[string]int64{"calls": 100, "retrans": 2, "auth_refresh": 101, "v3_ops": 28, "read": 6, "write": 7, "access": 4, "getattr": 1, "setattr": 2, "lookup": 3, "readlink": 5}},
		{name: "one version unknown", table: client, text: "rpc 1 2 3\nproc3 8 0 1 2 3 4 5 6 7\nproc4 5 0 1 x 3 4\n",
			want: map[string]int64{"calls": 1, "retrans": 2, "auth_refresh": 3, "v3_ops": 28}, skipped: 1, example: `procfs: net/rpc/nfs: line 3: field "x": not a number`},
		{name: "server", table: server,
			text: "rc 1 2 3\nfh 4 0 0 0 0\nio 18446744073709551615 6\nth 8 0 0.000 0.000\nra 32 0 0\nnet 9 10 11 12\nrpc 13 14 15 16 17\nproc3 22 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n" +
				"proc4 2 5 6\nproc4ops 40 0 0 0 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39\nwdeleg_getattr 5\n",
			want: map[string]int64{"cache_hits": 1, "cache_misses": 2, "cache_nocache": 3, "stale_handles": 4, "read_bytes": -1, "write_bytes": 6, "threads": 8,
				"packets": 9, "udp_packets": 10, "tcp_packets": 11, "tcp_connections": 12, "calls": 13, "bad_calls": 14, "bad_format": 15, "bad_auth": 16,
				"v3_ops": 231, "v4_ops": 777, "read": 6 + 25, "write": 7 + 38, "access": 4 + 3, "getattr": 1 + 9, "setattr": 2 + 34, "lookup": 3 + 15 + 16, "readlink": 5 + 27,
				"create": 8 + 9 + 10 + 11 + 6, "remove": 12 + 13 + 28, "rename": 14 + 29, "link": 15 + 11, "readdir": 16 + 17 + 26, "commit": 21 + 5,
				"open": 18, "close": 4, "lock": 12, "unlock": 14, "delegreturn": 8}},
		{name: "bad lines", table: server, text: "rc 1 2 3\nrc 4 5 6\nio 1\nnet 1 2 x 4\nth 9223372036854775808\nproc2 3 1 2\nproc3 2 1 2 3\nrpc 1 2 3 4",
			want: map[string]int64{"cache_hits": 1, "cache_misses": 2, "cache_nocache": 3}, skipped: 7, example: `procfs: net/rpc/nfs: line 2: field "rc": named twice`},
		{name: "empty", table: client, err: `procfs: net/rpc/nfs: line 1: field "": no whole line`},
		{name: "another file", table: client, text: "cpu 1 2 3\n", err: `procfs: net/rpc/nfs: line 1: field "cpu": not a line of NFS`},
		{name: "first line bad", table: server, text: "rc x 2 3\nio 1 2\n", err: `procfs: net/rpc/nfs: line 1: field "x": not a number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			known := nfsClient
			if tt.table == server {
				known = nfsServer
			}
			b := schemas.Block{Table: tt.table}
			for range 2 {
				var bad skips
				err := parseNFS(&b, "net/rpc/nfs", []byte(tt.text), known, &bad)
				if (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				if err != nil {
					return
				}
				if bad.lines != tt.skipped || bad.example != tt.example {
					t.Errorf("skipped %d: %s, want %d: %s", bad.lines, bad.example, tt.skipped, tt.example)
				}
				for _, d := range differences(columns(&b), tt.want) {
					t.Error(d)
				}
			}
		})
	}
}

func TestParseHeaded(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       map[string]int64
		skipped    int64
		example    string
		err        string
	}{
		{name: "in any order, with unknown names", text: "Tcp: MaxConn InSegs New CurrEstab\nTcp: -1 18446744073709551615 x 9\nIcmpMsg: InType3\nIcmpMsg: 5\nTcpExt: TCPMemoryPressuresChrono TW\nTcpExt: 7 8\nIpExt: InOctets\nIpExt: 6\n",
			want: map[string]int64{"tcp_in_segs": -1, "tcp_curr_estab": 9, "tcp_memory_pressure_ns": 7e6, "tcp_time_waits": 8, "ip_in_bytes": 6}},
		{name: "a bad number costs itself", text: "Udp: InDatagrams NoPorts OutDatagrams\nUdp: 5 x 7\nTcp: CurrEstab InSegs\nTcp: 9223372036854775808 4\n",
			want: map[string]int64{"udp_in_datagrams": 5, "udp_out_datagrams": 7, "tcp_in_segs": 4}, skipped: 2,
			example: `procfs: net/snmp: line 2: field "x": not a number`},
		{name: "bad lines", text: "Udp: InDatagrams\nUdp: 5\nTcp: InSegs OutSegs\nTcp: 1\nIp: InReceives\nIp: 1 2\nIcmp: InMsgs\nIp: 4\nnothing\nnothing: 5\nIcmp:\nIcmp:\nUdp: InDatagrams\nUdp: 6\nTcp: InErrs\nTcp: 5",
			want: map[string]int64{"udp_in_datagrams": 5}, skipped: 8, example: `procfs: net/snmp: line 4: field "Tcp: 1": not a number for each name before it`},
		{name: "no numbers after the last names", text: "Udp: InDatagrams\nUdp: 5\nTcp: InSegs\n", want: map[string]int64{"udp_in_datagrams": 5}, skipped: 1,
			example: `procfs: net/snmp: line 3: field "Tcp: InSegs": no line of numbers after it`},
		{name: "empty", err: `procfs: net/snmp: line 1: field "": no whole pair of lines`},
		{name: "first pair bad", text: "Udp: InDatagrams\nTcp: 5\n", err: `procfs: net/snmp: line 1: field "Tcp:": not of the names before it`},
		{name: "another file", text: "cpu 1 2\ncpu0 1 2\n", err: `procfs: net/snmp: line 1: field "cpu 1 2": no colon after a name`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			known := newHeadings(&schemas.NetProto)
			b := schemas.Block{Table: &schemas.NetProto}
			other := "Udp: NoPorts InDatagrams\nUdp: 1 2\nTcp: InSegs\nTcp: 3\nIp: InReceives OutRequests\nIp: 4 5\n"
			for _, text := range []string{tt.text, tt.text, other, tt.text} {
				var bad skips
				b.Resize(1)
				err := parseHeaded(&b, "net/snmp", []byte(text), known, &bad)
				if text == other {
					continue
				}
				if (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				if err != nil {
					continue
				}
				if bad.lines != tt.skipped || bad.example != tt.example {
					t.Errorf("skipped %d: %s, want %d: %s", bad.lines, bad.example, tt.skipped, tt.example)
				}
				if got := columns(&b); !maps.Equal(got, tt.want) {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}

// A kernel of today has each column of these tables.
func TestColumnsOfTodaysKernel(t *testing.T) {
	for _, tt := range []struct {
		table *schemas.Table
		files []string
	}{{&schemas.NetProto, []string{"net/snmp", "net/netstat"}}, {&schemas.NetProto6, []string{"net/snmp6"}}, {&schemas.Sockets, []string{"net/sockstat", "net/sockstat6"}}} {
		h := hostAt(fixture)
		for i := range kinds {
			if kinds[i].tables[0] != tt.table {
				continue
			}
			var files []*file
			for _, name := range tt.files {
				text, err := os.ReadFile(fixture + "/proc/" + name)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, &file{name: name, text: text})
			}
			blocks := []schemas.Block{{Table: tt.table}}
			if err := kinds[i].parser(h)(blocks, files, new(skips)); err != nil {
				t.Fatal(err)
			}
			for col, known := range blocks[0].Known {
				if !known {
					t.Errorf("%s: no %s", tt.table.Name, tt.table.Columns[col].Source)
				}
			}
		}
	}
}
