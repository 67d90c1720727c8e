package procfs

import (
	"slices"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// result is what a parser made of a text.
type result struct {
	devices []string
	rows    []string // see row
	skipped int64
	example string
	err     string
}

func (r *result) of(b *schemas.Block, bad *skips, err error) {
	r.skipped, r.example = bad.lines, bad.example
	if err != nil {
		r.err = err.Error()
		return
	}
	r.devices = b.Devices
	for i := range b.Rows() {
		r.rows = append(r.rows, row(b, i))
	}
}

func (got result) check(t *testing.T, want result) {
	t.Helper()
	if got.err != want.err {
		t.Errorf("error %q, want %q", got.err, want.err)
	}
	if !slices.Equal(got.devices, want.devices) {
		t.Errorf("devices %q, want %q", got.devices, want.devices)
	}
	if !slices.Equal(got.rows, want.rows) {
		t.Errorf("rows\n%q, want\n%q", got.rows, want.rows)
	}
	if got.skipped != want.skipped || got.example != want.example {
		t.Errorf("skipped %d: %s, want %d: %s", got.skipped, got.example, want.skipped, want.example)
	}
}

func TestParseStat(t *testing.T) {
	const end = "intr 5 0 0\nctxt 7\nprocs_running 3\nprocs_blocked 2\nsoftirq 1 1\n"
	for _, tt := range []struct {
		name, text string
		blocked    string // of load
		want       result
	}{
		{"hotplug, before", "cpu  1540 0 820 250000 0 0 0 0 0 0\n" +
			"cpu0 1000 0 500 80000 0 0 0 0 0 0\ncpu1 40 0 20 80000 0 0 0 0 0 0\ncpu8 500 0 300 90000 0 0 0 0 0 0\n" + end, "2",
			result{devices: []string{"0", "1", "8"}, rows: []string{
				"1000 0 500 80000 0 0 0 0 0 0", "40 0 20 80000 0 0 0 0 0 0", "500 0 300 90000 0 0 0 0 0 0"}}},
		{"hotplug, after", "cpu  1100 0 540 160210 0 0 0 0 0 0\n" +
			"cpu0 1030 0 510 80060 0 0 0 0 0 0\ncpu1 50 0 20 80090 0 0 0 0 0 0\ncpu8 20 0 10 60 0 0 0 0 0 0\n" + end, "2",
			result{devices: []string{"0", "1", "8"}, rows: []string{
				"1030 0 510 80060 0 0 0 0 0 0", "50 0 20 80090 0 0 0 0 0 0", "20 0 10 60 0 0 0 0 0 0"}}},
		{"iowait, before", "cpu  1000 0 500 80000 300 0 0 0 0 0\ncpu0 1000 0 500 80000 300 0 0 0 0 0\n", "-",
			result{devices: []string{"0"}, rows: []string{"1000 0 500 80000 300 0 0 0 0 0"}}},
		{"iowait, after", "cpu  1020 0 510 80071 299 0 0 0 0 0\ncpu0 1020 0 510 80071 299 0 0 0 0 0\n", "-",
			result{devices: []string{"0"}, rows: []string{"1020 0 510 80071 299 0 0 0 0 0"}}},
		{"Linux 2.4", "cpu  1 2 3 4\ncpu0 1 2 3 4\n", "-",
			result{devices: []string{"0"}, rows: []string{"1 2 3 4 - - - - - -"}}},
		{"Linux 2.6.0, trailing blank", "cpu  1 2 3 4 5 6 7 \ncpu0 1 2 3 4 5 6 7 \n", "-",
			result{devices: []string{"0"}, rows: []string{"1 2 3 4 5 6 7 - - -"}}},
		{"more fields", "cpu  1 2 3 4 5 6 7 8 9 10 11\ncpu0 1 2 3 4 5 6 7 8 9 10 11 x\n", "-",
			result{devices: []string{"0"}, rows: []string{"1 2 3 4 5 6 7 8 9 10"}}},
		{"all 64 bits", "cpu  1 2 3 4\ncpu0 18446744073709551615 9223372036854775808 9223372036854775807 0\n", "-",
			result{devices: []string{"0"}, rows: []string{"-1 -9223372036854775808 9223372036854775807 0 - - - - - -"}}},
		{"more than 64 bits", "cpu  1 2 3 4\ncpu0 5 18446744073709551616 3 4\ncpu1 1 2 3 4\n", "-",
			result{devices: []string{"0", "1"}, rows: []string{"- - - - - - - - - -", "1 2 3 4 - - - - - -"}, skipped: 1,
				example: `procfs: stat: line 2: field "18446744073709551616": out of range`}},
		{"bad line", "cpu  1 2 3 4\ncpu0 1 2 3\ncpu1 1 2 3 -4\ncpux 1 2 3 4\ncpu3 1 2 3 4 5 6 7,5\nprocs_blocked x\n", "-",
			result{devices: []string{"0", "1", "3"}, rows: []string{"- - - - - - - - - -", "- - - - - - - - - -", "- - - - - - - - - -"}, skipped: 5,
				example: `procfs: stat: line 2: field "": missing`}},
		{"cut off", "cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4", "-",
			result{devices: []string{"0"}, rows: []string{"1 2 3 4 - - - - - -"}, skipped: 1,
				example: `procfs: stat: line 3: field "cpu1 1 2 3 4": cut off`}},
		{"empty", "", "", result{err: `procfs: stat: line 1: field "": not the line of all CPUs`}},
		{"another file", "MemTotal: 5 kB\n", "", result{err: `procfs: stat: line 1: field "MemTotal: 5 kB": not the line of all CPUs`}},
		{"first line bad", "cpu  x 2 3 4\ncpu0 1 2 3 4\n", "", result{err: `procfs: stat: line 1: field "x": not a number`}},
		{"no CPU", "cpu  1 2 3 4\n" + end, "", result{err: `procfs: stat: no line of a CPU`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cpu, load, kernel := schemas.Block{Table: &schemas.CPU}, schemas.Block{Table: &schemas.Load}, schemas.Block{Table: &schemas.Kernel}
			var bad skips
			var got result
			err := parseStat(&cpu, &load, &kernel, []byte(tt.text), &bad)
			got.of(&cpu, &bad, err)
			got.check(t, tt.want)
			if want := "- - - - - " + tt.blocked; err == nil && row(&load, 0) != want {
				t.Errorf("load %q, want %q", row(&load, 0), want)
			}
		})
	}
}

func TestParseLoadavg(t *testing.T) {
	for _, tt := range []struct {
		text string
		want result
	}{
		{"0.53 2.81 3.93 1/103 18081\n", result{rows: []string{"53 281 393 1 103 -"}}},
		{"0.00 0.05 1234.50 0/1 1\n", result{rows: []string{"0 5 123450 0 1 -"}}},
		{"0.53 2.81 3.93 1/103\n", result{rows: []string{"53 281 393 1 103 -"}}},
		{"", result{err: `procfs: loadavg: line 1: field "": no whole line`}},
		{"0.53 2.81 3.93 1/10", result{err: `procfs: loadavg: line 1: field "0.53 2.81 3.93 1/10": no whole line`}},
		{"0,53 2,81 3,93 1/103 18081\n", result{err: `procfs: loadavg: line 1: field "0,53": not a number with two decimals`}},
		{"0.5 2.81 3.93 1/103 18081\n", result{err: `procfs: loadavg: line 1: field "0.5": not a number with two decimals`}},
		{".53 2.81 3.93 1/103 18081\n", result{err: `procfs: loadavg: line 1: field ".53": not a number with two decimals`}},
		{"-1.53 2.81 3.93 1/103 18081\n", result{err: `procfs: loadavg: line 1: field "-1.53": not a number with two decimals`}},
		{"92233720368547758.07 2.81 3.93 1/103 18081\n", result{err: `procfs: loadavg: line 1: field "92233720368547758.07": out of range`}},
		{"0.53 2.81 3.93 1-103 18081\n", result{err: `procfs: loadavg: line 1: field "1-103": not two numbers and a slash`}},
		{"0.53 2.81 3.93 1/x 18081\n", result{err: `procfs: loadavg: line 1: field "x": not a number`}},
		{"0.53 2.81 3.93 /5 18081\n", result{err: `procfs: loadavg: line 1: field "": missing`}},
	} {
		t.Run(tt.text, func(t *testing.T) {
			load := schemas.Block{Table: &schemas.Load}
			load.Resize(1)
			var bad skips
			var got result
			got.of(&load, &bad, parseLoadavg(&load, []byte(tt.text), &bad))
			got.check(t, tt.want)
		})
	}
}

func TestKernelCounters(t *testing.T) {
	cpu, load, kernel := schemas.Block{Table: &schemas.CPU}, schemas.Block{Table: &schemas.Load}, schemas.Block{Table: &schemas.Kernel}
	for _, tt := range []struct {
		text    string
		want    string
		skipped int64
		example string
	}{
		{"intr 7 0 1 6\nctxt 18446744073709551615\nbtime 5\nprocesses 8\nprocs_running 3\nsoftirq 9 4 5\n", "-1 8 7 9 - - - - -", 0, ""},
		{"intr 7\nctxt x\nprocesses\nintr 8\nsoftirq 1 x\nnew 5\n", "- - 7 1 - - - - -", 3, `procfs: stat: line 4: field "x": not a number`},
	} {
		var bad skips
		if err := parseStat(&cpu, &load, &kernel, []byte("cpu  1 2 3 4\ncpu0 1 2 3 4\n"+tt.text), &bad); err != nil {
			t.Fatal(err)
		}
		if got := row(&kernel, 0); got != tt.want || bad.lines != tt.skipped || bad.example != tt.example {
			t.Errorf("%s, skipped %d: %s, want %s, %d: %s", got, bad.lines, bad.example, tt.want, tt.skipped, tt.example)
		}
	}
}

func TestParseSysctl(t *testing.T) {
	for _, tt := range []struct{ name, text, want, example string }{
		{"sys/fs/dentry-state", "412344\t391234\t45\t0\t5190\t0\n", "412344 391234 - - -", ""},
		{"sys/fs/dentry-state", "412344\n", "- - - - -", `procfs: sys/fs/dentry-state: line 1: field "": missing`},
		{"sys/fs/file-nr", "4128\t128\t9223372036854775807\n", "- - 4000 - -", ""},
		{"sys/fs/inode-nr", "312344\t81234\n", "- - - 231110 -", ""},
		{"sys/fs/inode-nr", "5\t6\n", "- - - - -", `procfs: sys/fs/inode-nr: line 1: field "5\t6": out of range`},
		{"sys/fs/inode-nr", "9223372036854775808 0\n", "- - - - -", `procfs: sys/fs/inode-nr: line 1: field "9223372036854775808 0": out of range`},
		{"sys/fs/inode-nr", "0 18446744073709551615\n", "- - - - -", `procfs: sys/fs/inode-nr: line 1: field "0 18446744073709551615": out of range`},
		{"sys/fs/inode-nr", "9 x\n", "- - - - -", `procfs: sys/fs/inode-nr: line 1: field "x": not a number`},
		{"sys/kernel/pty/nr", "3\n", "- - - - 3", ""},
		{"sys/kernel/pty/nr", "3", "- - - - -", `procfs: sys/kernel/pty/nr: line 1: field "3": no whole line`},
		{"sys/kernel/pty/nr", "", "- - - - -", `procfs: sys/kernel/pty/nr: line 1: field "": no whole line`},
	} {
		kernel := schemas.Block{Table: &schemas.Kernel}
		kernel.Resize(1)
		var bad skips
		parseSysctl(&kernel, tt.name, []byte(tt.text), &bad)
		if got := row(&kernel, 0); got != "- - - - "+tt.want || bad.example != tt.example {
			t.Errorf("%s %q: %s, %s; want %s, %s", tt.name, tt.text, got, bad.example, tt.want, tt.example)
		}
	}
}
