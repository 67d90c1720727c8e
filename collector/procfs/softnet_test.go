package procfs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/steadybench/steady/schemas"
)

func TestParseSoftnet(t *testing.T) {
	const notKnown = "its CPU is not known: there is another number of lines than of CPUs that are online"
	for _, tt := range []struct {
		name, text string
		online     []uint64
		want       result
	}{
		{"Linux 6.18", "01942fa2 00003868 0000000d 0 0 0 0 0 0 00000001 00000002 00000003 00000000 00000001 00000002\nffffffff 0 0 0 0 0 0 0 0 0 0 0 0000000a 0 0\n", nil,
			result{devices: []string{"0", "10"}, rows: []string{"26488738 14440 13 1 2 3", "4294967295 0 0 0 0 0"}}},
		{"Linux 4.18, CPU 2 is offline", "1 2 3 0 0 0 0 0 0 4 5\n6 7 8 0 0 0 0 0 0 9 a\nb c d 0 0 0 0 0 0 e f\n", []uint64{0, 1, 3},
			result{devices: []string{"0", "1", "3"}, rows: []string{"1 2 3 4 5 -", "6 7 8 9 10 -", "11 12 13 14 15 -"}}},
		{"Linux 2.6.32", "1 2 3 0 0 0 0 0 4\n", []uint64{0}, result{devices: []string{"0"}, rows: []string{"1 2 3 - - -"}}},
		{"no word of which CPUs are online", "1 2 3 0 0 0 0 0 0 4\n1 2 3 0 0 0 0 0 0 4\n", []uint64{0}, result{skipped: 2,
			example: `procfs: net/softnet_stat: line 1: field "1 2 3 0 0 0 0 0 0 4": ` + notKnown}},
		{"bad lines", "1 2 3 0 0 0 0 0 0 4 5 6 7\n1 2 x\n1 2\n100000000 1 1\nA 1 1\n1 2 3 0 0 0 0 0 0 4 5 6 9\n1 2 3 0", nil,
			result{devices: []string{"7", "9"}, rows: []string{"1 2 3 4 5 6", "1 2 3 4 5 6"}, skipped: 5,
				example: `procfs: net/softnet_stat: line 2: field "x": not a hexadecimal number`}},
		{"empty", "", nil, result{err: `procfs: net/softnet_stat: line 1: field "": no whole line`}},
		{"first line bad", "1 2\n", nil, result{err: `procfs: net/softnet_stat: line 1: field "": missing`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := softnetFile{online: func() ([]uint64, error) { return tt.online, nil }}
			b := schemas.Block{Table: &schemas.Softnet}
			for range 2 {
				var bad skips
				var got result
				got.of(&b, &bad, p.parse(&b, []byte(tt.text), &bad))
				got.check(t, tt.want)
			}
		})
	}
}

// Where lines don't say their CPU, /sys is asked once, and again when their number changes.
func TestSoftnetAsksWhichCPUsAreOnline(t *testing.T) {
	const line = "1 2 3 0 0 0 0 0 0 4\n"
	var online []uint64
	asked := 0
	p := softnetFile{online: func() ([]uint64, error) {
		if asked++; online == nil {
			return nil, errors.New("no /sys")
		}
		return online, nil
	}}
	b := schemas.Block{Table: &schemas.Softnet}
	for _, tt := range []struct {
		online  []uint64
		lines   int
		asked   int
		devices []string
	}{
		{nil, 2, 1, nil},
		{[]uint64{0, 1}, 2, 2, []string{"0", "1"}},
		{[]uint64{0, 1}, 2, 2, []string{"0", "1"}},
		{[]uint64{1, 4, 5}, 3, 3, []string{"1", "4", "5"}},
		{[]uint64{1}, 1, 4, []string{"1"}},
	} {
		online = tt.online
		var text string
		for range tt.lines {
			text += line
		}
		if err := p.parse(&b, []byte(text), new(skips)); err != nil {
			t.Fatal(err)
		}
		if asked != tt.asked || !slices.Equal(b.Devices, tt.devices) {
			t.Errorf("asked %d times, devices %q, want %d, %q", asked, b.Devices, tt.asked, tt.devices)
		}
	}
}

func TestOnlineCPUs(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []uint64
	}{
		{"0-3\n", []uint64{0, 1, 2, 3}}, {"0\n", []uint64{0}}, {"0-1,3,8-9\n", []uint64{0, 1, 3, 8, 9}},
		{"", nil}, {"\n", nil}, {"3-1\n", nil}, {"1,0\n", nil}, {"0-x\n", nil}, {"-1\n", nil}, {"0-4294967295\n", nil},
	} {
		h := newHost(t.TempDir(), Options{})
		name := filepath.Join(h.sys, "devices/system/cpu/online")
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(tt.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := h.onlineCPUs(); !slices.Equal(got, tt.want) || (err == nil) != (tt.want != nil) {
			t.Errorf("%q: %v, %v", tt.text, got, err)
		}
	}
	if got, err := newHost(t.TempDir(), Options{}).onlineCPUs(); !errors.Is(err, os.ErrNotExist) {
		t.Error(got, err)
	}
}
