package perf

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	user   = unix.PerfBitExcludeUser
	kern   = unix.PerfBitExcludeKernel
	hyperv = unix.PerfBitExcludeHv
)

// Numbers from linux/perf_event.h, by perf's names.
func TestEventSyntax(t *testing.T) {
	for _, tt := range []struct{ event, want string }{
		{"cpu-clock", "1 0x0"}, {"task-clock", "1 0x1"}, {"page-faults", "1 0x2"}, {"faults", "1 0x2"}, {"context-switches", "1 0x3"}, {"cs", "1 0x3"},
		{"cpu-migrations", "1 0x4"}, {"minor-faults", "1 0x5"}, {"major-faults", "1 0x6"}, {"alignment-faults", "1 0x7"}, {"emulation-faults", "1 0x8"}, {"cgroup-switches", "1 0xb"},
		{"cycles", "0 0x0"}, {"cpu-cycles", "0 0x0"}, {"instructions", "0 0x1"}, {"cache-references", "0 0x2"}, {"cache-misses", "0 0x3"}, {"branches", "0 0x4"}, {"branch-instructions", "0 0x4"},
		{"branch-misses", "0 0x5"}, {"bus-cycles", "0 0x6"}, {"stalled-cycles-frontend", "0 0x7"}, {"idle-cycles-backend", "0 0x8"}, {"ref-cycles", "0 0x9"},
		{"L1-dcache-loads", "3 0x0"}, {"L1-dcache-load-misses", "3 0x10000"}, {"L1-dcache-stores", "3 0x100"}, {"L1-dcache-store-misses", "3 0x10100"}, {"L1-dcache-prefetch-misses", "3 0x10200"},
		{"L1-icache-load-misses", "3 0x10001"}, {"LLC-loads", "3 0x2"}, {"LLC-prefetches", "3 0x202"}, {"dTLB-load-misses", "3 0x10003"}, {"iTLB-loads", "3 0x4"}, {"branch-load-misses", "3 0x10005"}, {"node-stores", "3 0x106"},
		{"r1a8", "4 0x1a8"}, {"rFFFFffffFFFFffff", "4 0xffffffffffffffff"}, {"r0", "4 0x0"},
		{"cycles:u", fmt.Sprintf("0 0x0 without %#x", kern|hyperv)}, {"cycles:k", fmt.Sprintf("0 0x0 without %#x", user|hyperv)}, {"cycles:uk", fmt.Sprintf("0 0x0 without %#x", hyperv)}, {"cs:h", fmt.Sprintf("1 0x3 without %#x", user|kern)},
		{"cycles:ukh", "0 0x0"}, {"cycles:G", fmt.Sprintf("0 0x0 without %#x", unix.PerfBitExcludeHost)}, {"cycles:H", fmt.Sprintf("0 0x0 without %#x", unix.PerfBitExcludeGuest)}, {"cycles:", "0 0x0"},
		{"r1a8:k", fmt.Sprintf("4 0x1a8 without %#x", user|hyperv)},
		{"sched:sched_switch", "2 0x0 sched sched_switch"}, {"syscalls:sys_enter_fsync:u", fmt.Sprintf("2 0x0 without %#x syscalls sys_enter_fsync", kern|hyperv)}, {"r1:x", "4 0x1: modifier"}, {"rx:y", "2 0x0 rx y"},
		{"cpu/event=0x3c,umask=1/", "6 0x0 cpu [{event 60 false} {umask 1 false}]"}, {"cpu/instructions/u", fmt.Sprintf("6 0x0 without %#x cpu [{instructions 1 true}]", kern|hyperv)},
		{"msr/tsc/", "6 0x0 msr [{tsc 1 true}]"}, {"cpu/cycles/:k", fmt.Sprintf("6 0x0 without %#x cpu [{cycles 1 true}]", user|hyperv)}, {"cpu/inv,cmask=010/", "6 0x0 cpu [{inv 1 true} {cmask 8 false}]"},
	} {
		e, err := parseEvent(tt.event)
		got := fmt.Sprintf("%d %#x", e.typ, e.config)
		if e.exclude != 0 {
			got += fmt.Sprintf(" without %#x", e.exclude)
		}
		if e.system != "" {
			got += " " + e.system + " " + e.tracepoint
		}
		if e.pmu != "" {
			got += fmt.Sprintf(" %s %v", e.pmu, e.terms)
		}
		if strings.HasSuffix(tt.want, ": modifier") {
			if err == nil || !strings.Contains(err.Error(), "modifier") {
				t.Errorf("%s: %v", tt.event, err)
			}
			continue
		}
		if err != nil || got != tt.want || e.name != tt.event {
			t.Errorf("%s: %q is %s, %v, want %s", tt.event, e.name, got, err, tt.want)
		}
	}
}

func TestNoEvent(t *testing.T) {
	for _, tt := range []struct{ event, says string }{
		{"cyclse", `perf: event "cyclse": unknown: perf list`},
		{"", "unknown"}, {"r", "unknown"}, {"rxyz", "unknown"}, {"r+1", "unknown"}, {"r00000000000000001", ""}, {"r1ffffffffffffffff", "unknown"}, {"r1_0", "unknown"},
		{"cycles:p", `modifier "p"`}, {"cycles:uz", `modifier "z"`}, {"cycles u", "unknown"},
		{"{cycles", "braces"}, {"sched:", "want system:name"}, {":x", "want system:name"}, {"sched:../id", "second slash"}, {"sched:..", "want system:name"}, {"sched:*", "want system:name"},
		{"cpu/event=1", "second slash"}, {"/event=1/", "no name of a PMU"}, {"../cpu/x/", "no name of a PMU"}, {"cpu//", "want NAME"}, {"cpu/event=/", "no number"}, {"cpu/event=1,/", "want NAME"},
		{"cpu/=1/", "want NAME"}, {"cpu/event=-1/", "no number"}, {"cpu/event=1_0/", "no number"}, {"cpu/event=0x10000000000000000/", "no number"}, {"cpu/../x/", "want NAME"}, {"cpu/x/z", `modifier "z"`}, {"cpu/x//", "modifier"},
	} {
		e, err := parseEvent(tt.event)
		if tt.says == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.event, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.says) || e.name != "" || e.terms != nil {
			t.Errorf("%s: %v, want %q", tt.event, err, tt.says)
		}
	}
}

func TestListsOfEvents(t *testing.T) {
	for _, tt := range []struct {
		lists []string
		want  string
	}{
		{[]string{"cs"}, "cs"},
		{[]string{"cs,cycles:u", "cpu/event=1,umask=2/,r1"}, "cs|cycles:u|cpu/event=1,umask=2/|r1"},
		{[]string{"cpu/event=1,umask=2/u,msr/tsc/ , cs"}, "cpu/event=1,umask=2/u|msr/tsc/|cs"},
		{[]string{"cs,"}, "cs"},
		{[]string{""}, ""},
		{nil, ""},
		{[]string{"cs", "cs"}, `"cs": given twice`},
		{[]string{",cs"}, `"": unknown`},
		{[]string{"{cs,cycles}"}, "braces"},
		{[]string{"cpu/event=1,cs"}, "second slash"},
	} {
		events, err := parseEvents(tt.lists)
		var names []string
		for _, e := range events {
			names = append(names, e.name)
		}
		got := strings.Join(names, "|")
		if err != nil {
			if got != "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q: %s, %v", tt.lists, got, err)
			}
		} else if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.lists, got, tt.want)
		}
	}
	if _, _, err := Sources("/", nil, Options{Events: []string{"cyclse"}}); err == nil {
		t.Error("what is no event was taken")
	}
}

// FuzzParseEvent: whatever is taken leads to no file but those meant, keeps its name, and
// means the same when it is part of a list.
func FuzzParseEvent(f *testing.F) {
	for _, s := range []string{"cycles:u", "r1a8", "sched:sched_switch:k", "cpu/event=0x3c,umask=1,inv/uk", "L1-dcache-load-misses", "a/b/:c", "../x/y/", "{a,b}:S", "r-1", "msr/tsc=?/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := parseEvent(s)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "perf: event ") || e.name != "" {
				t.Fatalf("%v, %+v", err, e)
			}
			return
		}
		if e.name != s {
			t.Errorf("%q became %q", s, e.name)
		}
		for _, name := range []string{e.pmu, e.system, e.tracepoint} {
			if name != "" && !fileName(name) {
				t.Errorf("%q leads to %q", s, name)
			}
		}
		for _, x := range e.terms {
			if !fileName(x.name) || x.plain && x.value != 1 {
				t.Errorf("%q has term %+v", s, x)
			}
		}
		if e.exclude&^(user|kern|hyperv|unix.PerfBitExcludeGuest|unix.PerfBitExcludeHost) != 0 || (e.typ == typePMU) != (e.pmu != "") || (e.typ == unix.PERF_TYPE_TRACEPOINT) != (e.system != "") {
			t.Errorf("%q is %+v", s, e)
		}
		if s != strings.TrimSpace(s) {
			return
		}
		list, err := parseEvents([]string{"cpu/event=1,umask=2/," + s + ",msr/tsc/"})
		if s == "cpu/event=1,umask=2/" || s == "msr/tsc/" {
			return // twice
		}
		if err != nil || len(list) != 3 || fmt.Sprint(list[1]) != fmt.Sprint(e) {
			t.Errorf("%q in a list: %v, %v", s, list, err)
		}
	})
}
