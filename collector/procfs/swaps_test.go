package procfs

import (
	"testing"

	"github.com/steadybench/steady/schemas"
)

func TestParseSwaps(t *testing.T) {
	const heading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
	for _, tt := range []struct {
		name, text string
		want       result
	}{
		{"none", heading, result{}},
		{"a file and a partition", heading + "/dev/sda2                               partition\t8388604\t\t1024\t\t-2\n/var/swap\\040file\\134\\0401\\011\\012                        file\t\t1048572\t0\t10\n",
			result{devices: []string{"/dev/sda2", "/var/swap file\\ 1\t\n"}, rows: []string{"8589930496 1048576 -2", "1073737728 0 10"}}},
		{"bad lines", heading + "/a file x 0 1\n/b\n/c file 9007199254740992 0 1\n/d file 1 2 y\n/e file 1 2\n/f\\400 file 1 2 9223372036854775808\n/g file 1 2 3 4\n/h file 1",
			result{devices: []string{"/a", "/c", "/d", "/e", "/f\\400", "/g"}, rows: []string{"- - -", "- - -", "- - -", "- - -", "- - -", "1024 2048 3"},
				skipped: 7, example: `procfs: swaps: line 2: field "x": not a number`}},
		{"empty", "", result{err: `procfs: swaps: line 1: field "": no whole line`}},
		{"another file", "serinfo:1.0\n", result{err: `procfs: swaps: line 1: field "serinfo:1.0": not the heading of swap areas`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := schemas.Block{Table: &schemas.Swap}
			var bad skips
			var got result
			var path []byte
			got.of(&b, &bad, parseSwaps(&b, []byte(tt.text), &path, &bad))
			got.check(t, tt.want)
		})
	}
}
