package procfs

import (
	"testing"

	"github.com/steadybench/steady/schemas"
)

func TestParseNetDev(t *testing.T) {
	const (
		head = "Inter-|   Receive                                                |  Transmit\n" +
			" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
		none = "- - - - - - - - - - - - - - - - - -" // speed and duplex are not in the file
	)
	for _, tt := range []struct {
		name, text string
		want       result
	}{
		{"colons in names, and no blank after them",
			"eth0:5000000007 12 0 0 0 0 0 0 700 9 0 0 0 0 0 0\n" +
				"team0:1:       7 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n" +
				"eth1:0:321 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
			result{devices: []string{"eth0", "team0:1", "eth1:0"}, rows: []string{
				"5000000007 12 0 0 0 0 0 0 700 9 0 0 0 0 0 0 - -", "7 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 - -", "321 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 - -"}}},
		{"headings, the file's order, more fields", head + "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  eth0: 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 99 x\n",
			result{devices: []string{"lo", "eth0"}, rows: []string{"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 - -", "16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 - -"}}},
		{"all 64 bits", head + "lo: 18446744073709551615 2 3 4 5 6 7 8 9 10 11 12 13 14 15 9223372036854775808\n",
			result{devices: []string{"lo"}, rows: []string{"-1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 -9223372036854775808 - -"}}},
		{"bad lines", head + "a: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\nb: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 1x\nc d: 1 2\n: 5\nnothing\ne: 18446744073709551616\nf: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
			result{devices: []string{"a", "b", "e", "f"}, rows: []string{none, none, none, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 - -"},
				skipped: 6, example: `procfs: net/dev: line 3: field "": missing`}},
		{"cut off", head + "a: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
			result{skipped: 1, example: `procfs: net/dev: line 3: field "a: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16": cut off`}},
		{"no interfaces", head, result{}},
		{"empty", "", result{err: `procfs: net/dev: line 1: field "": no whole line`}},
		{"first line bad", "eth0: 1 2\n", result{err: `procfs: net/dev: line 1: field "": missing`}},
		{"another file", "cpu 1 2 3\n", result{err: `procfs: net/dev: line 1: field "cpu 1 2 3": no colon after a name`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := schemas.Block{Table: &schemas.Net}
			var bad skips
			var got result
			got.of(&b, &bad, parseNetDev(&b, []byte(tt.text), &bad))
			got.check(t, tt.want)
		})
	}
}
