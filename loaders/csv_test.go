package loaders

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestReadCSV(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skipf("no zone data on this host: %v", err)
	}
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	sec := int64(time.Second)
	for _, tt := range []struct {
		name, text string
		zone       *time.Location
		want       []CSVRun
	}{
		{"seconds since the start", "time,value\n0,100\n1,104\n3,108\n", time.UTC,
			[]CSVRun{{IntervalNS: []int64{2 * sec, sec, 2 * sec}, EndNS: []int64{2 * sec, 3 * sec, 5 * sec}, Value: []float64{100, 104, 108}, Known: []bool{true, true, true}}}},
		{"RFC 3339, semicolons, columns in another order", "\ufeffvalue;time\n1.5;2026-03-01T09:00:01Z\n;2026-03-01T09:00:02Z\nNaN;2026-03-01T10:00:03+01:00\n", time.UTC,
			[]CSVRun{{Start: start, IntervalNS: []int64{sec, sec, sec}, EndNS: []int64{sec, 2 * sec, 3 * sec}, Value: []float64{1.5, 0, 0}, Known: []bool{true, false, false}}}},
		{"local time, runs interleaved", "run,time,value\na,2026-03-01 10:00:01,1\nb,2026-03-01 10:00:01,10\na,2026-03-01 10:00:02,2\nb,2026-03-01 10:00:02,20\n", berlin,
			[]CSVRun{{Run: "a", Start: start, IntervalNS: []int64{sec, sec}, EndNS: []int64{sec, 2 * sec}, Value: []float64{1, 2}, Known: []bool{true, true}},
				{Run: "b", Start: start, IntervalNS: []int64{sec, sec}, EndNS: []int64{sec, 2 * sec}, Value: []float64{10, 20}, Known: []bool{true, true}}}},
		{"seconds since 1970, to the microsecond", "time,value\n1772355600.000001,1\n1772355601.000001,2\n", time.UTC,
			[]CSVRun{{Start: start.Add(-time.Second + time.Microsecond), IntervalNS: []int64{sec, sec}, EndNS: []int64{sec, 2 * sec}, Value: []float64{1, 2}, Known: []bool{true, true}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadCSV("f.csv", strings.NewReader(tt.text), tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got { // a float64 has not all nanoseconds since 1970
				got[i].Start = got[i].Start.Round(time.Microsecond)
				for _, x := range [][]int64{got[i].IntervalNS, got[i].EndNS} {
					for j := range x {
						x[j] = time.Duration(x[j]).Round(time.Microsecond).Nanoseconds()
					}
				}
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestReadCSVRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "line 1"},
		{"no heading", "0,1\n1,2\n", `column "0"`},
		{"no value", "run,time\na,1\n", "no column value"},
		{"unknown column", "time,value,host\n", `column "host"`},
		{"column twice", "time,value,value\n", `column "value"`},
		{"no rows", "time,value\n", "no rows"},
		{"one row", "time,value\n1,2\n", "one row"},
		{"decimal comma", "time;value\n0;1,5\n1;2\n", "line 2: value \"1,5\": a decimal comma"},
		{"a field too many", "time,value\n0,1,5\n", "decimal comma"},
		{"a word", "time,value\n0,fast\n", `line 2: value "fast"`},
		{"time stands still", "time,value\n0,1\n0,2\n", "line 3"},
		{"time of two kinds", "time,value\n0,1\n2026-03-01T09:00:00Z,2\n", "line 3"},
		{"no time", "time,value\nsoon,1\n", `line 2: time "soon"`},
		{"a time of no use", "time,value\n1e300,1\n", "out of range"},
	} {
		_, err := ReadCSV("f.csv", strings.NewReader(tt.text), time.UTC)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "f.csv") {
			t.Errorf("%s: %v, want a word of %q", tt.name, err, tt.want)
		}
	}
}

// What is read has as many values as marks and times, and times that ascend.
func FuzzReadCSV(f *testing.F) {
	f.Add("time,value\n0,1\n1,2\n")
	f.Add("run;time;value\na;2026-03-01 10:00:01;1\na;2026-03-01 10:00:02;\n")
	f.Fuzz(func(t *testing.T, text string) {
		runs, err := ReadCSV("f", strings.NewReader(text), time.UTC)
		if err != nil {
			return
		}
		for _, r := range runs {
			if len(r.Value) != len(r.Known) || len(r.EndNS) != len(r.Value) || len(r.IntervalNS) != len(r.Value) || len(r.Value) < 2 {
				t.Fatalf("%+v", r)
			}
			for _, iv := range r.IntervalNS {
				if iv <= 0 {
					t.Fatalf("interval %d", iv)
				}
			}
		}
	})
}
