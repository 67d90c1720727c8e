package procfs

import (
	"strings"

	"github.com/steadybench/steady/schemas"
)

func nfsClientParser(*host) parser {
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return parseNFS(&blocks[0], "net/rpc/nfs", files[0].text, nfsClient, bad)
	}
}

func nfsServerParser(*host) parser {
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return parseNFS(&blocks[0], "net/rpc/nfsd", files[0].text, nfsServer, bad)
	}
}

// nfsLine says what a line of /proc/net/rpc/nfs or nfsd has.
type nfsLine struct {
	first, last int // columns of its first numbers
	// A line of operations has their number and then how often each was done. first is
	// the column of their sum, ops are those of each by its place, -1 for none.
	ops []int
}

// Operations by their places. Those of version 3 are the procedures of RFC 1813, those
// of version 4 on the server the operations of RFC 7530 and its successors, from 0;
// those of version 4 on the client are the kernel's own (nfs4_procedures in
// fs/nfs/nfs4xdr.c, in the same order in all versions as far as here).
const (
	nfsV3Ops = "- getattr setattr lookup access readlink read write create create create create remove remove rename link readdir readdir - - - commit"

	nfsV4ClientOps = "- read write commit open - open - close setattr - - - - lock - unlock access getattr lookup lookup remove rename link create create - - readlink readdir - delegreturn"

	nfsV4ServerOps = "- - - access close commit create - delegreturn getattr - link lock - unlock lookup lookup - open - - - - - - read readdir readlink remove rename - - - - setattr - - - write"
)

var (
	nfsClient = map[string]nfsLine{
		"rpc":   nfsColumns(&schemas.NFSClient, "calls", "auth_refresh"),
		"proc2": nfsOperations(&schemas.NFSClient, "v2_ops", ""),
		"proc3": nfsOperations(&schemas.NFSClient, "v3_ops", nfsV3Ops),
		"proc4": nfsOperations(&schemas.NFSClient, "v4_ops", nfsV4ClientOps),
	}
	nfsServer = map[string]nfsLine{
		"rc":       nfsColumns(&schemas.NFSServer, "cache_hits", "cache_nocache"),
		"fh":       nfsColumns(&schemas.NFSServer, "stale_handles", "stale_handles"),
		"io":       nfsColumns(&schemas.NFSServer, "read_bytes", "write_bytes"),
		"th":       nfsColumns(&schemas.NFSServer, "threads", "threads"),
		"net":      nfsColumns(&schemas.NFSServer, "packets", "tcp_connections"),
		"rpc":      nfsColumns(&schemas.NFSServer, "calls", "bad_auth"),
		"proc2":    nfsOperations(&schemas.NFSServer, "v2_ops", ""),
		"proc3":    nfsOperations(&schemas.NFSServer, "v3_ops", nfsV3Ops),
		"proc4ops": nfsOperations(&schemas.NFSServer, "v4_ops", nfsV4ServerOps),
	}
)

func nfsColumns(t *schemas.Table, first, last string) nfsLine {
	return nfsLine{first: t.Column(first), last: t.Column(last)}
}

func nfsOperations(t *schemas.Table, sum, ops string) nfsLine {
	is := nfsLine{first: t.Column(sum), ops: []int{}}
	for name := range strings.FieldsSeq(ops) {
		is.ops = append(is.ops, t.Column(name)) // of "-" it is -1
	}
	return is
}

// parseNFS fills nfs, one row, from the text of /proc/net/rpc/nfs (rpc_proc_show in
// net/sunrpc/stats.c) or nfsd (fs/nfsd/stats.c), called name in errors, whose lines are
// known; others are left out. An operation is the sum over the versions that the file
// has. If one of them can't be read, it is null.
func parseNFS(nfs *schemas.Block, name string, text []byte, known map[string]nfsLine, bad *skips) error {
	nfs.Resize(1)
	l := lines{text: text}
	var lost columnSet // sums of which a part is unknown
	for line, ok := l.next(); ok; line, ok = l.next() {
		key, s := word(line)
		is, ok := known[string(key)]
		f := fault{}
		switch {
		case !ok && l.n == 1 && string(key) != "net":
			f = fault{key, "not a line of NFS"}
		case !ok:
			continue
		case nfs.Known[is.first]:
			f = fault{key, "named twice"}
		case is.ops == nil:
			if _, f = numbers(nfs, 0, is.first, is.last+1, s); f.why != "" {
				forget(nfs, 0, is.first, is.last+1)
			}
		default:
			f = is.addOps(nfs, s)
			if f.why != "" {
				lost.add(is.first)
				for _, col := range is.ops {
					if col >= 0 {
						lost.add(col)
					}
				}
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
	for col := range nfs.Table.Columns {
		if lost.has(col) {
			forget(nfs, 0, col, col+1)
		}
	}
	return nil
}

// addOps adds a line of operations: their number, and how often each was done.
func (is *nfsLine) addOps(nfs *schemas.Block, s []byte) fault {
	n, s, f := number(s)
	var sum, v uint64
	for i := uint64(0); f.why == "" && i < n; i++ {
		if v, s, f = number(s); f.why != "" {
			break
		}
		sum += v
		if i < uint64(len(is.ops)) && is.ops[i] >= 0 {
			nfs.Set(0, is.ops[i], nfs.Values[is.ops[i]]+int64(v))
		}
	}
	if more, _ := word(s); f.why == "" && len(more) > 0 {
		f = fault{more, "more numbers than the line says"}
	}
	if f.why != "" {
		return f
	}
	nfs.Set(0, is.first, int64(sum))
	return fault{}
}
