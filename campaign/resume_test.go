package campaign

import (
	"strings"
	"testing"
)

func TestRemaining(t *testing.T) {
	p, variants, err := ParsePlan("plan.yaml", []byte(whole), drivers)
	if err != nil {
		t.Fatal(err)
	}
	items := p.Schedule(variants, 1)
	done := []Done{
		{"b", "static_connections-1000", 1, true}, {"tuned", "static_connections-1000", 1, false}, {"tuned", "static_connections-1000", 2, true},
		{"b", "static_connections-1000", 2, true}, {"tuned", "soak", 1, false}, {"b", "another", 7, true},
	}
	if got, want := names(Remaining(items, done)), "static_connections-1000/tuned/2 static_connections-20000/b/1 static_connections-20000/tuned/1 "+
		"static_connections-20000/tuned/2 static_connections-20000/b/2 soak/b/1 soak/tuned/1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if a, b, c := NextNumber(done, "tuned", "static_connections-1000"), NextNumber(done, "tuned", "soak"), NextNumber(done, "b", "soak"); a != 3 || b != 2 || c != 1 {
		t.Errorf("next numbers %d %d %d", a, b, c)
	}
	// All of it done, nothing remains; extended, what was added does.
	for _, x := range items {
		done = append(done, Done{x.System.Name, x.Name, 10 + x.Repeat, true})
	}
	if got := Remaining(items, done); len(got) != 0 {
		t.Errorf("remaining: %s", names(got))
	}
	s := State{Extended: map[string]Extension{"static_connections-20000": {Pilot: 2, Runs: 5}}}
	s.Extend(variants)
	if got := names(Remaining(p.Schedule(variants, 1), done)); strings.Count(got, "static_connections-20000/") != 6 || strings.Contains(got, "1000/") {
		t.Errorf("extended: %s", got)
	}
}

func TestSamePlan(t *testing.T) {
	for _, tt := range []struct {
		before []byte
		ok     bool
	}{{nil, true}, {[]byte("a: 1\n"), true}, {[]byte("a: 2\n"), false}} {
		if err := SamePlan(tt.before, []byte("a: 1\n")); (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.before, err)
		}
	}
}
