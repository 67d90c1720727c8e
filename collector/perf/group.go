package perf

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// counts is what a group has counted.
type counts struct {
	enabled, running int64 // ns
	values           []int64
}

func (c *counts) add(x *counts) {
	c.enabled += x.enabled
	c.running += x.running
	for i, v := range x.values {
		c.values[i] += v
	}
}

func (c *counts) reset() {
	c.enabled, c.running = 0, 0
	clear(c.values)
}

// group is events that are counted together on one CPU.
type group struct {
	attrs []attr
	cpu   int

	fds     []int   // of the events that are open, the leader first
	members []int   // their places in attrs
	errs    []error // by place in attrs: why an event is not open

	now, prior counts // since it was opened, at the last reading; of when it was open before
	step       counts // times between the last two readings; 0 at the first

	wanted  bool // it is not open, and is to be at the next tick
	known   bool // the last tick read it
	stopped bool // the last tick found that it counts no more
	read    bool // there was a reading since it was opened
	told    bool // it is not open, and that was said
}

func newGroup(attrs []attr, cpu int) *group {
	n := len(attrs)
	return &group{attrs: attrs, cpu: cpu, errs: make([]error, n),
		now: counts{values: make([]int64, n)}, prior: counts{values: make([]int64, n)}}
}

// size is how many bytes a reading of n events has.
func size(n int) int { return 8 * (3 + n) }

// open opens the events, disabled. One that can't be had is left out, and the first that
// can leads. ok is false if there is none.
func (g *group) open(k kernel) (ok bool) {
	g.wanted, g.read = false, false
	g.step.reset()
	clear(g.errs)
	leader := -1
	for i := range g.attrs {
		fd, err := k.open(&g.attrs[i], g.cpu, leader)
		if err != nil {
			g.errs[i] = err
			continue
		}
		if leader < 0 {
			leader = fd
		}
		g.fds, g.members = append(g.fds, fd), append(g.members, i)
	}
	if leader < 0 {
		g.wanted = slices.ContainsFunc(g.errs, passing)
	}
	return leader >= 0
}

// start starts the counting of a group that is open.
func (g *group) start(k kernel) {
	if len(g.fds) == 0 {
		return
	}
	if err := k.enable(g.fds[0]); err != nil {
		g.end(k)
		g.errs[0], g.wanted = err, true
	}
}

// end closes the events and keeps what they counted.
func (g *group) end(k kernel) {
	for i := len(g.fds) - 1; i >= 0; i-- {
		k.close(g.fds[i]) // nothing was written
	}
	g.fds, g.members = g.fds[:0], g.members[:0]
	g.prior.add(&g.now)
	g.now.reset()
	g.wanted, g.known = false, false
}

// tick reads the group. One that counts no more is opened again; it is read from the next
// tick on, so that one without counts stands between the old ones and the new.
func (g *group) tick(k kernel, buf []byte) {
	g.known, g.stopped = false, false
	if len(g.fds) > 0 {
		if g.known = g.sample(k, buf); g.known {
			return
		}
		g.stopped = true
		g.end(k)
		g.wanted = true
	}
	if g.wanted {
		g.begin(k)
	}
}

// begin opens the events and starts their counting.
func (g *group) begin(k kernel) {
	if g.open(k) {
		g.start(k)
	}
}

// sample reads the group. It is false for one that counts no more. When its CPU goes away
// the kernel takes a group apart and its time stands still, also if the CPU is back by
// now: a group of one shows it a reading later. A PMU that goes away leaves ENODEV, an
// error state the end of the file.
func (g *group) sample(k kernel, buf []byte) bool {
	n, err := k.read(g.fds[0], buf)
	for err == unix.EINTR {
		n, err = k.read(g.fds[0], buf)
	}
	if err != nil || n != size(len(g.fds)) || binary.NativeEndian.Uint64(buf) != uint64(len(g.fds)) {
		return false
	}
	enabled := int64(binary.NativeEndian.Uint64(buf[8:]))
	running := int64(binary.NativeEndian.Uint64(buf[16:]))
	if g.read {
		g.step.enabled, g.step.running = enabled-g.now.enabled, running-g.now.running
		if g.step.enabled <= 0 {
			return false
		}
	}
	g.read = true
	g.now.enabled, g.now.running = enabled, running
	for i, place := range g.members {
		g.now.values[place] = int64(binary.NativeEndian.Uint64(buf[24+8*i:]))
	}
	return true
}
