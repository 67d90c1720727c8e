package procfs

import (
	"bytes"
	"math"

	"github.com/steadybench/steady/schemas"
)

var priority = schemas.Swap.Column("priority") // after size_bytes and used_bytes

func swapsParser(*host) parser {
	var path []byte
	return func(blocks []schemas.Block, files []*file, bad *skips) error {
		return parseSwaps(&blocks[0], files[0].text, &path, bad)
	}
}

// parseSwaps fills swap from the text of /proc/swaps (proc_swaps(5)): a heading, then
// path, type, size, what is used of it, and priority. path is room for a path.
func parseSwaps(swap *schemas.Block, text []byte, path *[]byte, bad *skips) error {
	const name = "swaps"
	all := len(swap.Table.Columns)
	l := lines{text: text}
	heading, ok := l.next()
	if !ok {
		return fault{text, "no whole line"}.in(name, 1)
	}
	if !bytes.HasPrefix(heading, []byte("Filename")) {
		return fault{heading, "not the heading of swap areas"}.in(name, 1)
	}
	swap.Resize(countLines(l.text))
	row := 0
	for line, ok := l.next(); ok; line, ok = l.next() {
		escaped, s := word(line)
		kind, s := word(s)
		if len(kind) == 0 {
			bad.add(name, l.n, fault{kind, missing})
			continue
		}
		s, f := numbers(swap, row, 0, priority, s)
		if f.why == "" {
			var v int64
			if v, f = signed(s); f.why == "" {
				swap.Set(row, priority, v)
			}
		}
		if f.why != "" {
			forget(swap, row, 0, all)
			bad.add(name, l.n, f)
		}
		*path = unescape((*path)[:0], escaped)
		swap.SetDevice(row, *path)
		row++
	}
	l.end(name, bad)
	trim(swap, row)
	return nil
}

// signed returns the next field of s, a whole number that may be negative.
func signed(s []byte) (int64, fault) {
	field, _ := word(s)
	digits, negative := bytes.CutPrefix(field, []byte{'-'})
	v, _, f := number(digits)
	switch {
	case f.why != "":
		return 0, fault{field, f.why}
	case v > math.MaxInt64:
		return 0, fault{field, outOfRange}
	case negative:
		return -int64(v), fault{}
	}
	return int64(v), fault{}
}

// unescape appends a path to dst in which the kernel wrote a blank, a tab, a newline
// and a backslash in octal (mangle_path in fs/seq_file.c): "a\040b" is "a b".
func unescape(dst, path []byte) []byte {
	for len(path) > 0 {
		i := bytes.IndexByte(path, '\\')
		if i < 0 {
			return append(dst, path...)
		}
		dst = append(dst, path[:i]...)
		path = path[i:]
		if len(path) > 3 && octal(path[1], '3') && octal(path[2], '7') && octal(path[3], '7') {
			dst = append(dst, (path[1]-'0')<<6|(path[2]-'0')<<3|(path[3]-'0'))
			path = path[4:]
			continue
		}
		dst = append(dst, '\\')
		path = path[1:]
	}
	return dst
}

func octal(c, most byte) bool { return c >= '0' && c <= most }
