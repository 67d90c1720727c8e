package procfs

import (
	"testing"

	"github.com/steadybench/steady/schemas"
)

func TestParsePressure(t *testing.T) {
	for _, tt := range []struct {
		name, text, row string
		skipped         int64
		example, err    string
	}{
		{name: "both", text: "some avg10=1.25 avg60=2.04 avg300=22.98 total=1166053990\nfull avg10=0.07 avg60=0.00 avg300=0.00 total=8\n",
			row: "1166053990000 8000 125 7"},
		{name: "cpu before Linux 5.13", text: "some avg10=0.00 avg60=2.04 avg300=22.98 total=5\n", row: "5000 - 0 -"},
		{name: "more lines and keys", text: "some new=x avg10=100.00 total=5 more=7\nother avg10=1.00 total=9\n", row: "5000 - 10000 -"},
		{name: "bad full", text: "some avg10=0.00 total=5\nfull avg10=0.1 total=6\n", row: "5000 - 0 -",
			skipped: 1, example: `procfs: pressure/io: line 2: field "avg10=0.1": not a number with two decimals`},
		{name: "bad full after its total", text: "some avg10=0.00 total=5\nfull total=6 avg10=0,10\n", row: "5000 - 0 -",
			skipped: 1, example: `procfs: pressure/io: line 2: field "avg10=0,10": not a number with two decimals`},
		{name: "full without total", text: "some avg10=0.00 total=5\nfull avg10=0.10\n", row: "5000 - 0 -",
			skipped: 1, example: `procfs: pressure/io: line 2: field "avg10=0.10": without avg10 or total`},
		{name: "full cut off", text: "some avg10=0.00 total=5\nfull avg10=0.10 total=12", row: "5000 - 0 -",
			skipped: 1, example: `procfs: pressure/io: line 2: field "full avg10=0.10 total=12": cut off`},
		{name: "empty", err: `procfs: pressure/io: line 1: field "": no whole line`},
		{name: "full first", text: "full avg10=0.00 total=5\n", err: `procfs: pressure/io: line 1: field "full": not "some"`},
		{name: "first line bad", text: "some avg10=0.00 total=x\n", err: `procfs: pressure/io: line 1: field "total=x": not a number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := schemas.Block{Table: &schemas.Pressure}
			b.Resize(2)
			b.SetDevice(0, []byte("cpu"))
			b.SetDevice(1, []byte("io"))
			var bad skips
			err := parsePressure(&b, 1, "pressure/io", []byte(tt.text), &bad)
			if (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if bad.lines != tt.skipped || bad.example != tt.example {
				t.Errorf("skipped %d: %s, want %d: %s", bad.lines, bad.example, tt.skipped, tt.example)
			}
			if err != nil {
				return
			}
			if got := row(&b, 1); got != tt.row {
				t.Errorf("got %q, want %q", got, tt.row)
			}
			if got := row(&b, 0); got != "- - - -" {
				t.Errorf("the other row became %q", got)
			}
		})
	}
}
