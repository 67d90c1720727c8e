package procfs

import (
	"os"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

func TestParseDiskstats(t *testing.T) {
	const (
		base = "10 0 40960 5000000 20 0 81920 8000000 0 12000000 13000000"
		none = "- - - - - - - - - - - - - - - - -"
	)
	for _, tt := range []struct {
		name, text string
		want       result
	}{
		{"14, 18, 20 and 17 fields",
			"   8  0 sda 10 0 80 5 20 0 160 8 0 12 13\n" +
				"   8  0 sda 10 0 80 5 20 0 160 8 0 12 13 3 0 24 1\n" +
				"   8  0 sda 10 0 80 5 20 0 160 8 0 12 13 3 0 24 1 2 4\n" +
				"   8  0 sda 10 0 80 5 20 0 160 8 0 12 13 3 0 24\n",
			result{devices: []string{"sda", "sda", "sda", "sda"}, rows: []string{
				base + " - - - - - -", base + " 3 0 12288 1000000 - -", base + " 3 0 12288 1000000 2 4000000", base + " - - - - - -"},
				skipped: 1, example: `procfs: diskstats: line 4: field "": missing`}},
		{"19 and more than 20 fields",
			"8 0 sda 10 0 80 5 20 0 160 8 0 12 13 3 0 24 1 2\n" +
				"8 16 sdb 10 0 80 5 20 0 160 8 0 12 13 3 0 24 1 2 4 5 x\n",
			result{devices: []string{"sda", "sdb"}, rows: []string{base + " 3 0 12288 1000000 - -", base + " 3 0 12288 1000000 2 4000000"},
				skipped: 1, example: `procfs: diskstats: line 1: field "": missing`}},
		{"partitions, also Linux 2.6.0's, and idle devices",
			"7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n" +
				"8 0 sda 10 0 80 5 20 0 160 8 0 12 13\n" +
				"8 1 sda1 10 0 80 5 20 0 160 8 0 12 13\n" +
				"8 2 sda2 10 80 20 160\n" +
				"259 0 nvme0n1 10 0 80 5 20 0 160 8 0 12 13\n" +
				"259 1 nvme0n1p1 10 0 80 5 20 0 160 8 0 12 13\n" +
				"253 0 dm-0 0 0 0 0 0 0 0 0 1 0 0\n" +
				"254 0 zram0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
			result{devices: []string{"sda", "nvme0n1", "dm-0"}, rows: []string{base + " - - - - - -", base + " - - - - - -",
				"0 0 0 0 0 0 0 0 1 0 0 - - - - - -"}}},
		{"idle, with 17 fields", "8 0 sda 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
			result{skipped: 1, example: `procfs: diskstats: line 1: field "": missing`}},
		{"went below 0", "8 0 sda 1 2 18446744073709551615 18446744073709551615 0 0 0 0 0 0 0\n",
			result{devices: []string{"sda"}, rows: []string{"1 2 -512 -1000000 0 0 0 0 0 0 0 - - - - - -"}}},
		{"bad lines",
			"8 0 sda 10 0 80 5 20 0 160 8 0 12 13\n" +
				"8 16 sdb 10 0 80 5 20 0 160 8 0 12\n" +
				"8 32 sdc 10 0 80 5 x 0 160 8 0 12 13 3 0 24 1 2 4\n" +
				"8 48\n" +
				"x 48 sde 10 0 80 5 20 0 160 8 0 12 13\n" +
				"8 64 sdf 10 0 80 5 20 0 160 8 18446744073709551615 12 13\n" +
				"8 80 sdg 10 0 80 5 20 0 160 8 0 12 13 3 y 24 1 2 4\n",
			result{devices: []string{"sda", "sdb", "sdc", "sdf", "sdg"}, rows: []string{base + " - - - - - -", none, none, none, base + " - - - - - -"},
				skipped: 6, example: `procfs: diskstats: line 2: field "": missing`}},
		{"cut off", "8 0 sda 10 0 80 5 20 0 160 8 0 12 13\n8 16 sdb 1",
			result{devices: []string{"sda"}, rows: []string{base + " - - - - - -"},
				skipped: 1, example: `procfs: diskstats: line 2: field "8 16 sdb 1": cut off`}},
		{"no disks", "", result{}},
		{"first line bad", "8 0 sda 10 0 80 5 x\n", result{err: `procfs: diskstats: line 1: field "x": not a number`}},
		{"another file", "cpu  1 2 3 4\n", result{err: `procfs: diskstats: line 1: field "cpu": not a number`}},
		{"one line cut off", "8 0 sda 10", result{err: `procfs: diskstats: line 1: field "8 0 sda 10": no whole line`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := schemas.Block{Table: &schemas.Disk}
			var bad skips
			var got result
			got.of(&b, &bad, parseDiskstats(&b, []byte(tt.text), newWhole(wholeByName), &bad))
			got.check(t, tt.want)
		})
	}
}

func newWhole(look func(string) bool) *wholeDisks {
	return &wholeDisks{is: make(map[string]bool), look: look}
}

func TestWholeByName(t *testing.T) {
	for name, want := range map[string]bool{
		"sda": true, "sdaa": true, "hda": true, "vda": true, "xvda": true, "dasda": true,
		"nvme0n1": true, "mmcblk0": true, "mmcblk0boot0": true, "mmcblk0rpmb": true,
		"md0": true, "md127": true, "dm-0": true, "sr0": true, "loop0": true, "ram0": true,
		"zram0": true, "fd0": true, "nbd0": true, "rbd0": true, "drbd0": true, "pmem0": true,
		"bcache0": true, "zd16": true, "cciss/c0d0": true, "p1": true, "5": true, "sd5": true, "": true,
		"sda1": false, "sdaa15": false, "hda1": false, "vda1": false, "xvda1": false, "dasda1": false, "rssda1": false,
		"nvme0n1p1": false, "nvme10n1p12": false, "mmcblk0p1": false, "md0p1": false, "loop0p1": false,
		"nbd0p1": false, "rbd0p1": false, "pmem0p1": false, "bcache0p1": false, "cciss/c0d0p1": false,
	} {
		if got := wholeByName(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func TestWholeBySysfs(t *testing.T) {
	h := host{sys: "/sys"}
	entries, _ := os.ReadDir("/sys/block") // none in some containers
	for _, e := range entries {
		if !h.wholeDisk(strings.ReplaceAll(e.Name(), "!", "/")) {
			t.Errorf("%s is no whole device", e.Name())
		}
	}
	for _, name := range []string{"sdzzz1", "none0p1", "none/c0d0p1"} {
		if h.wholeDisk(name) {
			t.Errorf("%s is a whole device", name)
		}
	}
}

// The look-up is made once a name.
func TestWholeDisksRemember(t *testing.T) {
	asked := make(map[string]int)
	w := newWhole(func(name string) bool { asked[name]++; return name == "sda" })
	for range 3 {
		if !w.has([]byte("sda")) || w.has([]byte("sda1")) {
			t.Error("wrong answer")
		}
	}
	if asked["sda"] != 1 || asked["sda1"] != 1 {
		t.Errorf("asked %v times", asked)
	}
}
