package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// same reports whether two readings say the same.
func (r *reading) same(o *reading) bool {
	return slices.Equal(r.v, o.v) && slices.Equal(r.known, o.known)
}

func addFixtures(f *testing.F, file string) {
	names, err := filepath.Glob(processHost + "/proc/*/" + file)
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
}

// What a process's stat says, printed as the kernel would, it says again.
func FuzzPidStat(f *testing.F) {
	addFixtures(f, "stat")
	f.Add([]byte("1 (a) R (b) S 1 2 3\n"))
	f.Add([]byte(")(\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, again := newReading(), newReading()
		st, is := parsePidStat(&r, text)
		if is.why != "" {
			if slices.Contains(r.known, true) {
				t.Errorf("%s, and values", is.why)
			}
			return
		}
		const tick = 1e9 / userHZ
		if r.v[pUser]%tick != 0 || r.v[pSystem]%tick != 0 {
			return // beyond 64 bits
		}
		out := fmt.Sprintf("1 (%s) S %d 0 0 0 -1 0 %d 0 %d 0 %d %d 0 0 20 0 %d 0 %d\n", st.comm, st.ppid, r.v[pMinflt], r.v[pMajflt],
			r.v[pUser]/tick, r.v[pSystem]/tick, st.threads, st.start)
		st2, is := parsePidStat(&again, []byte(out))
		if is.why != "" || !r.same(&again) || string(st2.comm) != string(st.comm) || st2.ppid != st.ppid || st2.start != st.start || st2.threads != st.threads {
			t.Errorf("%+v %v, printed %q, then %+v %v %s", st, r, out, st2, again, is.why)
		}
	})
}

func fuzzNamedLines(f *testing.F, lines []namedColumn) {
	f.Fuzz(func(t *testing.T, text []byte) {
		r, again := newReading(), newReading()
		parseNamedLines(&r, lines, text)
		out := "Name:\tx\n"
		for _, n := range lines {
			switch v := r.v[n.col]; {
			case !r.known[n.col]:
			case n.mul == 1024:
				out += fmt.Sprintf("%s:\t%8d kB\n", n.name, v/1024)
			default:
				out += fmt.Sprintf("%s: %d\n", n.name, v)
			}
		}
		if is := parseNamedLines(&again, lines, []byte(out)); is.why != "" || !r.same(&again) {
			t.Errorf("%v, printed %q, then %v, %s", r, out, again, is.why)
		}
		for col, known := range r.known {
			if known && !slices.ContainsFunc(lines, func(n namedColumn) bool { return n.col == col }) {
				t.Errorf("column %d is not in the file", col)
			}
		}
	})
}

func FuzzPidStatus(f *testing.F) {
	addFixtures(f, "status")
	f.Add([]byte("Name:\tRssAnon:\t1 kB\nRssAnon:\t9007199254740992 kB\nnonvoluntary_ctxt_switches: 1\nvoluntary_ctxt_switches:x\nVmSwap: 1 MB\nRssFile:2"))
	fuzzNamedLines(f, slices.Concat(statusMemory, statusSwitches))
}

func FuzzPidIO(f *testing.F) {
	addFixtures(f, "io")
	f.Add([]byte("rchar: 18446744073709551615\nsyscr: 1 2\nread_bytes: x\ncancelled_write_bytes: 3\nwrite_bytes: 4"))
	fuzzNamedLines(f, ioLines)
}

func FuzzTaskSchedstat(f *testing.F) {
	addFixtures(f, "schedstat")
	f.Add([]byte("1 2 3 4\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		run, delay, is := parseTaskSchedstat(text)
		if is.why != "" {
			return
		}
		if r, d, is := parseTaskSchedstat(fmt.Appendf(nil, "%d %d 0\n", run, delay)); is.why != "" || r != run || d != delay {
			t.Errorf("%d %d, then %d %d %s", run, delay, r, d, is.why)
		}
	})
}

// A selector that is read from text and printed is the same selector.
func FuzzParseSelector(f *testing.F) {
	for _, seed := range []string{"nginx", "cmd:a.*b", "pid:7", "tree:007", "[!a]", "a:b", "cmd:(", "pid:99999999999", "kworker/*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSelector(text)
		if err != nil {
			return
		}
		if again, err := ParseSelector(s.String()); err != nil || again != s {
			t.Errorf("%+v, then %+v, %v", s, again, err)
		}
	})
}
