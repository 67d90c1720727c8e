package columns

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/steadybench/steady/schemas"
)

func frame(n int, seed uint64) Frame {
	r := rand.New(rand.NewPCG(seed, 1))
	f := Frame{
		{Name: "time", Time: true}, {Name: "n", Required: true}, {Name: "count"},
		{Name: "x", Type: schemas.Float64}, {Name: "host", Type: schemas.String, Required: true},
		{Name: "unit", Type: schemas.String}, {Name: "hist", Type: schemas.Bytes},
	}
	for i := range n {
		for _, c := range f {
			switch {
			case !c.Required && r.IntN(4) == 0:
				c.AppendNull()
			case c.Type == schemas.Float64:
				c.AppendFloat([]float64{0, 1.5, -2, math.MaxFloat64}[r.IntN(4)])
			case c.Type == schemas.String:
				c.AppendText([]string{"", "a", "b:1"}[r.IntN(3)])
			case c.Type == schemas.Bytes:
				c.AppendBlob([]byte{byte(i), 0, 255})
			default:
				c.AppendInt([]int64{0, int64(i), math.MinInt64, math.MaxInt64, -1}[r.IntN(5)])
			}
		}
	}
	return f
}

func write(t testing.TB, path string, groups ...Frame) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, groups[0], map[string]string{"k": "v"})
	for _, g := range groups {
		if err := w.WriteGroup(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A plain zero, a null and every extreme come back as what they were, in the file's
// column order, for sizes around the writer's batches.
func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4095, 4096, 4097, 10000} {
		path := filepath.Join(t.TempDir(), "f.parquet")
		want := frame(n, uint64(n))
		write(t, path, want)
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if f.Rows() != int64(n) || f.Metadata("k") != "v" {
			t.Errorf("%d rows, metadata %q", f.Rows(), f.Metadata("k"))
		}
		got, err := f.Read()
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range got {
			w := want[i]
			if c.Name != w.Name || c.Time != w.Time || c.Type != w.Type || c.Required != w.Required || c.Len() != w.Len() {
				t.Fatalf("column %d: %s %v, want %s %v", i, c.Name, c.Type, w.Name, w.Type)
			}
			for k := range n {
				if c.Null(k) != w.Null(k) {
					t.Fatalf("%s[%d]: null %v", c.Name, k, c.Null(k))
				}
				if c.Null(k) {
					continue
				}
				one, two := Column{Type: c.Type, Required: true}, Column{Type: c.Type, Required: true}
				one.AppendFrom(c, k)
				two.AppendFrom(w, k)
				if !reflect.DeepEqual(one, two) {
					t.Fatalf("%s[%d] = %+v, want %+v", c.Name, k, one, two)
				}
			}
		}
	}
}

func TestGroups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.parquet")
	write(t, path, frame(100, 1), frame(7, 2))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := f.Read("n", "hist")
	if err != nil || f.Groups() != 2 || got.Rows() != 107 {
		t.Fatalf("%d groups, %d rows, %v", f.Groups(), got.Rows(), err)
	}
	if _, err := f.Read("nope"); err == nil {
		t.Error("a column that is not there was read")
	}
}

// Every cut is an error that says what to do. A flipped byte never panics, and in the
// pages' data it is caught by their checksum; what hits a page's header or the footer
// can pass, which is why a run's manifest holds the checksum of each file.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.parquet")
	write(t, path, frame(300, 3))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func(b []byte) (Frame, error) {
		p := filepath.Join(dir, "damaged")
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := Open(p)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return f.Read()
	}
	want, err := read(whole)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/400 {
		if _, err := read(whole[:n]); !errors.Is(err, ErrUnreadable) {
			t.Fatalf("cut at byte %d of %d: %v", n, len(whole), err)
		}
	}
	tried, silent := 0, 0
	for i := 0; i < len(whole); i += 1 + len(whole)/400 {
		b := bytes.Clone(whole)
		b[i] ^= 0x10
		tried++
		if got, err := read(b); err == nil && !reflect.DeepEqual(got, want) {
			silent++
		}
	}
	if silent*50 > tried {
		t.Errorf("%d of %d flipped bytes read otherwise in silence", silent, tried)
	}
}
