package procfs

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// reprint holds a parser of a group's file to what it promises for any text: it doesn't
// panic, what it parsed before makes no difference, a row's other columns stay null, and
// what it says, printed as the kernel would, it says again.
func reprint(f *testing.F, columns []int, parse func(b *schemas.Block, text []byte, bad *skips), print func(values map[string]int64) string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		run := func(text []byte) (map[string]int64, skips) {
			return parsed(func(b *schemas.Block, bad *skips) { parse(b, text, bad) })
		}
		got, bad := run(text)
		if again, badAgain := run(text); !maps.Equal(got, again) || bad != badAgain {
			t.Fatalf("%v %v, then %v %v", got, bad, again, badAgain)
		}
		for name := range got {
			if !slices.Contains(columns, groupColumn(name)) {
				t.Errorf("%s is no column of the file", name)
			}
		}
		again, bad := run([]byte(print(got)))
		if !maps.Equal(got, again) {
			t.Errorf("%v, printed %q, then %v, %s", got, print(got), again, bad.example)
		}
	})
}

func FuzzGroupIOStat(f *testing.F) {
	d := countAll()
	var columns []int
	for i := range ioKeys {
		columns = append(columns, ioKeys[i].col)
	}
	reprint(f, columns, func(b *schemas.Block, text []byte, bad *skips) { parseIOStat(b, 0, d, "io.stat", text, bad) },
		func(values map[string]int64) string {
			line := "8:0 use_delay=0"
			for i := range ioKeys {
				if v, ok := values[schemas.Cgroup.Columns[ioKeys[i].col].Name]; ok {
					line += fmt.Sprintf(" %s=%d", ioKeys[i].key, uint64(v))
				}
			}
			return line + "\n"
		},
		"8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6\n8:16 rbytes=10 wbytes=20 rios=30 wios=40\n", "7:7 7:6 8:0 rbytes=1 rbytes=2\n253:1 ",
		"(unknown) rbytes=1\n8:0 rbytes=18446744073709551615 wbytes=18446744073709551616\n", "8:0 rby")
}

func FuzzGroupBlkio(f *testing.F) {
	d := countAll()
	cols := groupColumns("read_bytes", "write_bytes", "discard_bytes")
	for _, seed := range []string{"8:0 Read 5\n8:0 Write 0\n8:0 Sync 3\n8:0 Total 5\n7:0 Read 1\nTotal 6\n", "Total 0\n", "(unknown) Discard 5\n8:0 Write 18446744073709551615\n8:1 Write 2\n", "8:0 Read x\n", "8:0 Wr"} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, all bool) {
		run := func(text []byte) (map[string]int64, skips) {
			return parsed(func(b *schemas.Block, bad *skips) { parseBlkio(b, 0, cols, d, all, "f", text, bad) })
		}
		got, bad := run(text)
		if bad.lines > 0 && len(got) > 0 {
			t.Errorf("%v beside %s", got, bad.example)
		}
		out := "Total 0\n"
		for i, col := range cols {
			if v, ok := got[schemas.Cgroup.Columns[col].Name]; ok {
				out += fmt.Sprintf("8:0 %s %d\n", blkioOps[i], uint64(v))
			}
		}
		if bad.lines > 0 {
			out = "none\n"
		}
		if again, _ := run([]byte(out)); !maps.Equal(got, again) {
			t.Errorf("%v, printed %q, then %v", got, out, again)
		}
	})
}

func FuzzGroupMemoryStat(f *testing.F) {
	files := filesV2()["memory"]
	file := files[slices.IndexFunc(files, func(f groupFile) bool { return f.name == "memory.stat" })]
	g := &groups{}
	reprint(f, file.columns, func(b *schemas.Block, text []byte, bad *skips) {
		g.bad = skips{}
		file.parse(g, b, 0, file.name, text)
		*bad = g.bad
	}, func(values map[string]int64) string {
		out := "nothing 1\n"
		for name, v := range values {
			out += fmt.Sprintf("%s %d\n", strings.TrimSuffix(name, "_bytes"), uint64(v))
		}
		return out
	}, "anon 1\nfile 2\nkernel 3\npgfault 18446744073709551615\n", "anon 9223372036854775808\nanon 1\nslab x\nsock 1 2\n", "shmem 1", "\n \nanon  5 \n", "anon 3\nfile_thp 4\nanon 5\n")
}

func FuzzGroupNumber(f *testing.F) {
	col := groupColumn("memory_limit_bytes")
	reprint(f, []int{col}, func(b *schemas.Block, text []byte, bad *skips) { parseOne(b, 0, col, "f", text, bad) },
		func(values map[string]int64) string {
			if v, ok := values["memory_limit_bytes"]; ok {
				return fmt.Sprintln(v)
			}
			return "max\n"
		}, "4096\n", "max\n", "9223372036854771712\n", "-1\n", " 7 \n", "1\n2\n", "5")
}

func FuzzGroupPressure(f *testing.F) {
	some, full := groupColumn("io_some_ns"), groupColumn("io_full_ns")
	f.Add([]byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=3\n"))
	f.Add([]byte("some total=18446744073709551615\nfull total=x\nmore total=1\nsome total=1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		run := func(text []byte) map[string]int64 {
			got, _ := parsed(func(b *schemas.Block, bad *skips) { parseTotals(b, 0, some, full, "f", text, bad) })
			return got
		}
		got := run(text)
		out := ""
		for name, v := range got {
			if uint64(v)%1000 != 0 {
				return // it went beyond 64 bits
			}
			out += fmt.Sprintf("%s avg10=0.00 total=%d\n", strings.TrimSuffix(strings.TrimPrefix(name, "io_"), "_ns"), uint64(v)/1000)
		}
		if again := run([]byte(out)); !maps.Equal(got, again) {
			t.Errorf("%v, printed %q, then %v", got, out, again)
		}
	})
}

func FuzzGroupMounts(f *testing.F) {
	f.Add([]byte(`31 1 0:26 /a\040b /odd\134name rw shared:9 - cgroup2 cgroup2 rw` + "\n32 1 0:27 / /cg rw - cgroup cgroup rw,cpu,cpuacct\n"))
	f.Add([]byte("cgroup\n1 2 3 4 5 6 - cgroup x y\n"))
	escape := func(s string) string {
		var out strings.Builder
		for i := range len(s) {
			if c := s[i]; c > ' ' && c < 0x7f && c != '\\' {
				out.WriteByte(c)
			} else {
				fmt.Fprintf(&out, `\%03o`, c)
			}
		}
		return out.String()
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var bad skips
		got := parseMounts(text, &bad)
		out := ""
		for _, m := range got {
			kind, options := "cgroup2", "rw"
			if m.controllers != nil {
				kind, options = "cgroup", strings.Join(m.controllers, ",")
			}
			out += fmt.Sprintf("1 2 0:3 %s %s rw - %s x %s\n", escape(m.root), escape(m.point), kind, options)
		}
		if again := parseMounts([]byte(out), &bad); fmt.Sprint(again) != fmt.Sprint(got) {
			t.Errorf("%q, printed %q, then %q", got, out, again)
		}
	})
}

// FuzzGroupPatterns holds the walk through a tree, name by name, to what a pattern means.
func FuzzGroupPatterns(f *testing.F) {
	for _, seed := range [][2]string{{"/", ""}, {"/**", "a/b"}, {"/a/**/b/*", "a/b/b/c"}, {"/**/**", "a"}, {"/**/x*/**", "a/xy/z"}, {`/[!a]\*`, "b*"}, {"/[a", "a"}, {"/a**", "ab"}} {
		f.Add(seed[0], seed[1])
	}
	var matches func(pattern, names []string) bool
	matches = func(pattern, names []string) bool {
		switch {
		case len(pattern) == 0:
			return len(names) == 0
		case pattern[0] == "**" && len(pattern) == 1:
			return len(names) > 0
		case pattern[0] == "**":
			for i := range len(names) + 1 {
				if matches(pattern[1:], names[i:]) {
					return true
				}
			}
			return false
		case len(names) == 0:
			return false
		}
		ok, _ := path.Match(pattern[0], names[0])
		return ok && matches(pattern[1:], names[1:])
	}
	f.Fuzz(func(t *testing.T, pattern, group string) {
		globs, err := parseGlobs([]string{pattern})
		if err != nil || strings.Count(pattern, "**") > 5 {
			return
		}
		var names []string
		if group != "" {
			names = strings.Split(group, "/")
		}
		found := make([]bool, 1)
		states, got := globs.begin(found)
		for _, name := range names {
			states, got = globs.step(states, name, found)
		}
		if want := matches(globs[0], names); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, group, got, want)
		}
	})
}
