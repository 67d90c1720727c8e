package analyze

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type changeSeries struct {
	name       string
	x          []float64
	annotators [][]int
}

// changeTCPD reads the univariate series of the Turing Change Point Dataset that
// are here, in order of name.
func changeTCPD(t testing.TB) []changeSeries {
	t.Helper()
	var ann map[string]map[string][]int
	b, err := os.ReadFile("evaluatedrift/testdata/tcpd/annotations.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &ann); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("evaluatedrift/testdata/tcpd/datasets/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no series", err)
	}
	slices.Sort(files)
	var out []changeSeries
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var j struct {
			Series []struct{ Raw []*float64 }
		}
		if err := json.Unmarshal(b, &j); err != nil {
			t.Fatal(f, err)
		}
		if len(j.Series) != 1 {
			continue
		}
		s := changeSeries{name: strings.TrimSuffix(filepath.Base(f), ".json")}
		for _, p := range j.Series[0].Raw {
			v := math.NaN()
			if p != nil {
				v = *p
			}
			s.x = append(s.x, v)
		}
		ids := make([]string, 0)
		for id := range ann[s.name] {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
			s.annotators = append(s.annotators, ann[s.name][id])
		}
		out = append(out, s)
	}
	return out
}

// The scores are those of TCPDBench: a detector that finds nothing gets the
// published figures of its table, on every series here.
func TestChangePointScores(t *testing.T) {
	var pub map[string]map[string]map[string]float64
	b, err := os.ReadFile("evaluatedrift/testdata/tcpd/published_scores.json")
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	pub = map[string]map[string]map[string]float64{}
	for _, k := range []string{"default_f1", "default_cover"} {
		var m map[string]map[string]float64
		if err := json.Unmarshal(raw[k], &m); err != nil {
			t.Fatal(err)
		}
		pub[k] = m
	}
	for _, s := range changeTCPD(t) {
		f, c := ChangePointsF1(s.annotators, nil, 5), ChangePointsCover(s.annotators, nil, len(s.x))
		if w := pub["default_f1"][s.name]["zero"]; math.Abs(f-w) > 6e-4 {
			t.Errorf("%s: F1 %.4f, want %.3f", s.name, f, w)
		}
		if w := pub["default_cover"][s.name]["zero"]; math.Abs(c-w) > 6e-4 {
			t.Errorf("%s: cover %.4f, want %.3f", s.name, c, w)
		}
	}
	// One prediction serves one point; the union is for precision.
	if f := ChangePointsF1([][]int{{100, 103}}, []int{101}, 5); math.Abs(f-2*1*(2.0/3)/(1+2.0/3)) > 1e-12 {
		t.Errorf("F1 %g", f)
	}
	if c := ChangePointsCover([][]int{{50}}, []int{50}, 100); c != 1 {
		t.Errorf("cover %g", c)
	}
}

// On the half of the Turing Change Point Dataset that is here, with no setting
// to choose, both scores are above those of the published defaults: binseg .692
// and .649, amoc .677 and .682.
func TestChangePointsTCPD(t *testing.T) {
	var f, c float64
	ss := changeTCPD(t)
	for _, s := range ss {
		p := ChangePoints(s.x)
		f += ChangePointsF1(s.annotators, p, 5) / float64(len(ss))
		c += ChangePointsCover(s.annotators, p, len(s.x)) / float64(len(ss))
	}
	t.Logf("F1 %.3f, cover %.3f on %d series", f, c, len(ss))
	if f < 0.73 || c < 0.69 {
		t.Errorf("F1 %.3f, cover %.3f, want .73 and .69", f, c)
	}
}

// The cases of MongoDB's tests of E-divisive with an answer beyond dispute, and
// a ramp, which is no stair.
func TestChangePointsSteps(t *testing.T) {
	rep := func(v float64, n int) []float64 { return slices.Repeat([]float64{v}, n) }
	ramp := make([]float64, 60)
	for i := range ramp {
		ramp[i] = float64(i) + 0.3*math.Sin(7*float64(i*i))
	}
	for _, tt := range []struct {
		name string
		x    []float64
		want []int
	}{
		{"step", slices.Concat(rep(50, 15), rep(100, 15)), []int{15}},
		{"two steps", slices.Concat(rep(50, 15), rep(100, 15), rep(150, 15)), []int{15, 30}},
		{"constant", rep(3, 30), nil},
		{"ramp", ramp, nil},
		{"nothing", nil, nil},
		{"missing", slices.Concat(rep(1, 20), rep(math.NaN(), 3), rep(2, 20)), []int{23}},
	} {
		got := ChangePoints(tt.x)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
