package procfs

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

func TestParseLink(t *testing.T) {
	for _, tt := range []struct {
		parse func([]byte) (int64, bool, fault)
		text  string
		want  string
	}{
		{linkSpeed, "10000", "10000"}, {linkSpeed, "10", "10"}, {linkSpeed, "400000", "400000"}, {linkSpeed, "65534", "65534"},
		{linkSpeed, "-1", "unknown"}, {linkSpeed, "0", "unknown"}, {linkSpeed, "65535", "unknown"}, {linkSpeed, "4294967295", "unknown"},
		{linkSpeed, "", "missing"}, {linkSpeed, "fast", "not a number"}, {linkSpeed, "10 000", "not a number"},
		{duplex, "full", "1"}, {duplex, "half", "0"}, {duplex, "unknown", "unknown"}, {duplex, "", "not a duplex mode"},
		{operational, "up", "1"}, {operational, "down", "0"}, {operational, "lowerlayerdown", "0"}, {operational, "dormant", "0"},
		{operational, "notpresent", "0"}, {operational, "testing", "0"}, {operational, "unknown", "unknown"}, {operational, "UP", "not an operational state"},
	} {
		v, known, f := tt.parse([]byte(tt.text))
		got := fmt.Sprint(v)
		switch {
		case f.why != "":
			got = f.why
		case !known:
			got = "unknown"
		}
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
}

// dev writes /proc/net/dev with these interfaces.
func dev(t *testing.T, root string, interfaces ...string) {
	t.Helper()
	text := "Inter-|\n face |\n"
	for _, name := range interfaces {
		text += name + ": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
	}
	write(t, text, root, "proc/net/dev")
}

// Speed and duplex are read when the carrier changed, and every lookEvery.
func TestSpeedIsReadWhenTheCarrierChanged(t *testing.T) {
	w := watchHost(machine(t, "intel-2s"))
	s := open(t, w.host)
	dir := filepath.Join(w.sys, "class/net/ens1f1np1")
	const speed, key = "sys/class/net/ens1f1np1/speed", "net/ens1f1np1/speed_bit_per_s"
	s.tick(0)
	if v, ok := s.tick(second)[key]; ok {
		t.Errorf("%d while it is down", v)
	}
	clear(w.reads)
	for _, step := range []struct {
		name    string
		afterNS int64
		do      func()
		reads   int
		want    int64
	}{
		{"nothing", second, func() {}, 0, 0},
		{"up", second, func() {
			write(t, "3\n", dir, "carrier_changes")
			write(t, "up\n", dir, "operstate")
			write(t, "25000\n", dir, "speed")
			write(t, "full\n", dir, "duplex")
		}, 1, 25000e6},
		{"stays", second, func() {}, 0, 25000e6},
		{"another without a change of carrier", second, func() { write(t, "10000\n", dir, "speed") }, 0, 25000e6},
		{"and later", lookEvery, func() {}, 1, 10000e6},
		{"down, which is an error", second, func() {
			write(t, "4\n", dir, "carrier_changes")
			w.fail[speed], w.fail["ens1f1np1/duplex"] = unix.EINVAL, unix.EINVAL
		}, 1, 0},
	} {
		clear(w.reads)
		step.do()
		got := s.tick(step.afterNS)
		if w.reads[speed] != step.reads || got[key] != step.want {
			t.Errorf("%s: read %d times, %d bit/s, want %d, %d", step.name, w.reads[speed], got[key], step.reads, step.want)
		}
		if _, ok := got["net/ens1f1np1/full_duplex"]; ok != (step.want != 0) {
			t.Errorf("%s: duplex known %v", step.name, ok)
		}
	}
	if n, example := s.sources[0].(*netSource).Skipped(); n != 0 {
		t.Errorf("%d: %s", n, example)
	}
}

// Interfaces come and go with /proc/net/dev, and what is open of those that went is given
// back.
func TestInterfacesComeAndGo(t *testing.T) {
	w := watchHost(machine(t, "amd-epyc"))
	s := open(t, w.host)
	source := s.sources[0].(*netSource)
	if source.Name() != "net_dev" || !slices.Equal(source.Tables(), []*schemas.Table{&schemas.Net, &schemas.Link}) {
		t.Fatalf("%s of %d tables", source.Name(), len(source.Tables()))
	}
	links := func() (out []string) { return s.blocks[0][1].Devices }
	s.tick(0)
	held, was := links(), slices.Clone(links())
	dir := filepath.Join(w.sys, "class/net")
	write(t, "9000\n", dir, "veth1/mtu")
	write(t, "up\n", dir, "veth1/operstate")
	dev(t, w.sys+"/..", "lo", "veth1", "nowhere", "enp193s0f0")
	got := s.tick(second)
	if want := []string{"lo", "veth1", "enp193s0f0"}; !slices.Equal(links(), want) || !slices.Equal(held, was) {
		t.Errorf("links %q, want %q; the tick before has %q", links(), want, held)
	}
	if got["link/veth1/mtu_bytes"] != 9000 || got["net/nowhere/rx_bytes"] != 1 || got["net/enp193s0f0/speed_bit_per_s"] != 25000e6 {
		t.Errorf("%v", got)
	}
	if _, ok := got["link/veth1/carrier_changes"]; ok {
		t.Error("before Linux 3.15 there are no carrier changes")
	}

	// Its directory comes late.
	write(t, "up\n", dir, "nowhere/operstate")
	if s.tick(second); slices.Contains(links(), "nowhere") {
		t.Error("looked for at each tick")
	}
	if s.tick(lookEvery); !slices.Contains(links(), "nowhere") {
		t.Error("not looked for again")
	}

	// Another one of the same name.
	opened := w.opens["sys/class/net/veth1/operstate"]
	w.fail["veth1/operstate"] = unix.ENODEV
	s.tick(second)
	clear(w.fail)
	if got := s.tick(second)["link/veth1/up"]; got != 1 || w.opens["sys/class/net/veth1/operstate"] != opened+1 {
		t.Errorf("up %d, opened %d times more", got, w.opens["sys/class/net/veth1/operstate"]-opened)
	}

	dev(t, w.sys+"/..", "enp193s0f0")
	s.tick(second)
	if want := []string{"enp193s0f0"}; !slices.Equal(links(), want) || len(source.links.of) != 1 {
		t.Errorf("links %q, open %d", links(), len(source.links.of))
	}
}

// Without /sys/class/net there is net, and no link.
func TestNoSysClassNet(t *testing.T) {
	root := machine(t, "amd-epyc")
	remove(t, root, "sys/class/net")
	s := open(t, newHost(root, Options{}))
	if _, ok := s.sources[0].(*source); !ok {
		t.Fatalf("%T", s.sources[0])
	}
	if got := s.tick(0)["net/enp193s0f0/rx_packets"]; got != 91234 {
		t.Errorf("%d packets", got)
	}
	if got, want := s.absent["link"], root+"/sys/class/net does not exist"; got != want {
		t.Errorf("absent %q", got)
	}
}

// A net/dev that can't be read is a failed tick of both tables.
func TestNetDevFails(t *testing.T) {
	root := machine(t, "amd-epyc")
	s := open(t, newHost(root, Options{}))
	before := s.tick(0)
	write(t, "nonsense\n", root, "proc/net/dev")
	if err := s.sources[0].Sample(s.blocks[0]); err == nil {
		t.Error("no error")
	}
	dev(t, root, "enp193s0f0")
	if got := of("link", s.tick(second)); !maps.Equal(got, map[string]int64{"enp193s0f0/carrier_changes": 1, "enp193s0f0/mtu_bytes": 1500, "enp193s0f0/up": 1}) {
		t.Errorf("%v, before %v", got, before)
	}
}
