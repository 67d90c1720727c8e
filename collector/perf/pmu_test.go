package perf

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"
)

// Intel's fields and events, as the kernel describes them.
var intel = map[string]string{
	"format/event": "config:0-7", "format/umask": "config:8-15", "format/edge": "config:18", "format/inv": "config:23", "format/cmask": "config:24-31",
	"format/ldlat": "config1:0-15", "format/offcore_rsp": "config1:0-63", "format/split": "config2:0-3,32-35", "format/new": "config3:0-7", "format/bad": "config:7-0",
	"events/cpu-cycles": "event=0x3c", "events/mem-loads": "event=0xcd,umask=0x1,ldlat=3", "events/topdown-recovery-bubbles": "event=0xd,umask=0x3,cmask=0x1,any=1",
	"events/stalled": "event=0x0e,umask=0x01,inv,cmask=0x1", "events/domain": "event=0x10,umask=?,cmask=?", "events/broken": "event=x",
}

func TestEventsOfAPMU(t *testing.T) {
	m := newMachine(t, "0")
	for name, text := range intel {
		m.write(map[string]string{"sys/bus/event_source/devices/cpu/" + name: text})
	}
	for _, tt := range []struct{ event, want string }{
		{"cpu/event=0x3c,umask=0x1/", "4 0x13c 0x0 0x0"},
		{"cpu/cpu-cycles/", "4 0x3c 0x0 0x0"},
		{"cpu/cpu-cycles/u", "4 0x3c 0x0 0x0"},
		{"cpu/mem-loads/", "4 0x1cd 0x3 0x0"},
		{"cpu/mem-loads,ldlat=0x1ff/", "4 0x1cd 0x1ff 0x0"}, // after the event's own
		{"cpu/ldlat=7,mem-loads/", "4 0x1cd 0x7 0x0"},       // before it as well
		{"cpu/stalled/", "4 0x180010e 0x0 0x0"},
		{"cpu/event=1,inv,edge/", "4 0x840001 0x0 0x0"},
		{"cpu/split=0xa5/", "4 0x0 0x0 0xa00000005"},
		{"cpu/offcore_rsp=0xffffffffffffffff/", "4 0x0 0xffffffffffffffff 0x0"},
		{"cpu/config=0x123456789,config1=1,config2=2/", "4 0x123456789 0x1 0x2"},
		{"cpu/domain,umask=2,cmask=3/", "4 0x3000210 0x0 0x0"},
		{"cpu/instructions/", "0 0x1 0x0 0x0"}, // the kernel's own name
		{"cpu/LLC-load-misses/", "3 0x10002 0x0 0x0"},

		{"cpu/umask=0x100/", "umask=0x100: the field has 8 bits"},
		{"cpu/inv=2/", "inv=0x2: the field has 1 bits"},
		{"cpu/nosuch/", "PMU cpu has no event or field nosuch"},
		{"cpu/nosuch=1/", "no event or field nosuch"},
		{"cpu/domain/", "the event needs umask, cmask: add umask=NUMBER"},
		{"cpu/domain,cmask=1/", "the event needs umask"},
		{"cpu/broken/", "events/broken: term"},
		{"cpu/topdown-recovery-bubbles/", "no event or field any"},
		{"cpu/new=1/", "want config:, config1: or config2:"},
		{"cpu/bad=1/", `"7-0" is no range`},
		{"cpu/config/", "no event or field config"},
		{"cpu/instructions,umask=1/", "stands alone"},
		{"cpu/context-switches/", "no event or field context-switches"},
		{"nosuch/event=1/", "the host has no PMU nosuch"},
	} {
		e, err := parseEvent(tt.event)
		if err != nil {
			t.Fatal(err)
		}
		x, err := m.resolve(&e)
		got := fmt.Sprint(err)
		if err == nil {
			a := x[0].attr
			got = fmt.Sprintf("%d %#x %#x %#x", a.typ, a.config[0], a.config[1], a.config[2])
			if a.exclude != e.exclude || x[0].cpus != nil || len(x) != 1 {
				t.Errorf("%s: %+v", tt.event, x)
			}
		}
		if err == nil && got != tt.want || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.event, got, tt.want)
		}
	}
}

func TestTracepoints(t *testing.T) {
	for _, dir := range []string{"sys/kernel/tracing", "sys/kernel/debug/tracing"} {
		m := newMachine(t, "0")
		m.write(map[string]string{dir + "/events/sched/sched_switch/id": "316", dir + "/events/sched/odd/id": "x"})
		for _, tt := range []struct{ event, says string }{
			{"sched:sched_switch", ""}, {"sched:nosuch", "the kernel has no such tracepoint: see "}, {"sched:odd", "no number"},
		} {
			e, err := parseEvent(tt.event)
			if err != nil {
				t.Fatal(err)
			}
			x, err := m.resolve(&e)
			if tt.says == "" {
				if err != nil || x[0].typ != 2 || x[0].config[0] != 316 {
					t.Errorf("%s: %+v, %v", tt.event, x, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v, want %q", tt.event, err, tt.says)
			}
		}
	}
}

// A PMU whose files are damaged says which.
func TestPMUDamaged(t *testing.T) {
	for file, says := range map[string]string{"type": `type: "x" is no number`, "cpumask": `cpumask: "x" is no list`, "cpus": `cpus: "x" is no list`} {
		m := newMachine(t, "0")
		m.write(map[string]string{"sys/bus/event_source/devices/p/type": "9"})
		m.write(map[string]string{"sys/bus/event_source/devices/p/" + file: "x"})
		e, _ := parseEvent("p/config=1/")
		if _, err := m.resolve(&e); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestListsOfCPUs(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []int
	}{
		{"0", []int{0}}, {"0-3", []int{0, 1, 2, 3}}, {"0,2-3,8", []int{0, 2, 3, 8}}, {"", []int{}}, {"65535", []int{65535}},
		{"x", nil}, {"3-1", nil}, {"0,0", nil}, {"1,0", nil}, {"0-", nil}, {"-1", nil}, {"0,", nil}, {"0 1", nil}, {"65536", nil}, {"0-4294967295", nil},
	} {
		got, err := parseCPUs(tt.text)
		if !slices.Equal(got, tt.want) || (err != nil) != (tt.want == nil) {
			t.Errorf("%q: %v, %v, want %v", tt.text, got, err, tt.want)
		}
	}
}

// FuzzFormat: a field's value stands in its bits, lowest first, and nowhere else.
func FuzzFormat(f *testing.F) {
	for _, text := range intel {
		f.Add(text, uint64(0x1f3), uint64(1<<63|5))
	}
	f.Add("config1:0-63", ^uint64(0), uint64(0))
	f.Add("config:63,0-1", uint64(5), ^uint64(0))
	f.Fuzz(func(t *testing.T, text string, v, before uint64) {
		x, err := parseFormat(text)
		if err != nil {
			return
		}
		config := [3]uint64{before, before, before}
		if err := x.put(&config, v); err != nil {
			if bits.Len64(v) <= len(x.bits) || config != [3]uint64{before, before, before} {
				t.Fatalf("%s: %v: %#x", text, err, config)
			}
			return
		}
		var got, mask uint64
		for i, b := range x.bits {
			got |= config[x.word] >> b & 1 << i
			mask |= 1 << b
		}
		if got != v || bits.OnesCount64(mask) != len(x.bits) {
			t.Errorf("%s: %#x became %#x", text, v, got)
		}
		for i, c := range config {
			if i == x.word {
				c = c&^mask | before&mask
			}
			if c != before {
				t.Errorf("%s: word %d changed from %#x to %#x", text, i, before, config[i])
			}
		}
	})
}

// FuzzParseCPUs: a list is ascending, and the same when written and read again.
func FuzzParseCPUs(f *testing.F) {
	for _, text := range []string{"0-3,8", "", "0", "5-5", "1,2,3", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := parseCPUs(text)
		if err != nil {
			return
		}
		var again []string
		for i, n := range cpus {
			if n < 0 || i > 0 && n <= cpus[i-1] {
				t.Fatalf("%q: %v", text, cpus)
			}
			again = append(again, fmt.Sprint(n))
		}
		if x, err := parseCPUs(strings.Join(again, ",")); err != nil || !slices.Equal(x, cpus) {
			t.Errorf("%q: %v, then %v", text, cpus, x)
		}
	})
}
