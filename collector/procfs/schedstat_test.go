package procfs

import (
	"testing"

	"github.com/steadybench/steady/schemas"
)

func TestParseSchedstat(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       result
	}{
		{"version 15", "version 15\ntimestamp 4295123456\ncpu0 0 0 0 0 0 0 700 80 9\ndomain0 00000000,00000003 1 2 3\ncpu8 1 2 3 4 5 6 18446744073709551615 8 9\ndomain0 03 1\n",
			result{devices: []string{"0", "8"}, rows: []string{"700 80 9", "-1 8 9"}}},
		{"version 17", "version 17\ntimestamp 4295123456\ncpu0 0 0 0 0 0 0 700 80 9\ndomain0 SMT 03 1 2 3\n", result{devices: []string{"0"}, rows: []string{"700 80 9"}}},
		{"another length", "version 18\ncpu0 0 0 0 0 0 0 0 700 80 9\ncpu1 1 2 3\n",
			result{devices: []string{"0", "1"}, rows: []string{"- - -", "- - -"}, skipped: 2,
				example: `procfs: schedstat: line 2: field "9": more numbers than this version of steady knows`}},
		{"bad lines", "version 15\ncpux 0 0 0 0 0 0 7 8 9\ncpu1 0 0 0 0 0 0 7 x 9\ncpu2 0 0 0 0 x 0 7 8 9\ncpu3 0 0 0 0 0 0 7 8 9\ncpu4 0 0 0 0 0 0 7 8 9",
			result{devices: []string{"1", "2", "3"}, rows: []string{"- - -", "- - -", "7 8 9"}, skipped: 4, example: `procfs: schedstat: line 2: field "x": not a number`}},
		{"too old", "version 10\ncpu0 1\n", result{err: `procfs: schedstat: line 1: field "10": a version that is too old`}},
		{"empty", "", result{err: `procfs: schedstat: line 1: field "": no version`}},
		{"no version", "cpu0 1\n", result{err: `procfs: schedstat: line 1: field "cpu0 1\n": no version`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := schemas.Block{Table: &schemas.Sched}
			var bad skips
			var got result
			got.of(&b, &bad, parseSchedstat(&b, []byte(tt.text), &bad))
			got.check(t, tt.want)
		})
	}
}
