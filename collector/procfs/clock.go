package procfs

import (
	"bytes"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// suspendNS is how much more the boot time clock must have gone than the monotonic clock,
// which stands still in a suspend, to call it one.
const suspendNS = 50e6

// nominalTick is what adjtimex(2) calls a tick in microseconds: a hundredth of a second.
const nominalTick = 10000

// clockSource is the source of table clock. It notes suspends and changes of the clock
// source too; steps of the wall clock show in the stamps of all tables.
type clockSource struct {
	clock    collector.Clock
	adjtimex func(*unix.Timex) (state int, err error)
	now      func(clock int32) int64

	timex   unix.Timex
	counter cell   // current_clocksource
	name    []byte // what it said last
	aheadNS int64  // of the boot time clock to the monotonic one at the last tick, at most
	ticked  bool   // aheadNS is known
	refused bool   // by adjtimex; it was told
	notes   notes
}

var clockTables = []*schemas.Table{&schemas.Clock}

var (
	_ collector.Source  = (*clockSource)(nil)
	_ collector.Skipper = (*clockSource)(nil)
	_ collector.Noter   = (*clockSource)(nil)
)

func newClockSource(h *host, clock collector.Clock, absent map[string]string) *clockSource {
	c := &clockSource{clock: clock, adjtimex: unix.Adjtimex, now: clockNS}
	c.counter.path = filepath.Join(h.sys, "devices/system/clocksource/clocksource0/current_clocksource")
	if c.counter.open(h, nil); c.counter.err != nil {
		absent["clock/clock_source"] = c.counter.failure()
	}
	c.name = bytes.Clone(bytes.TrimSpace(c.counter.text))
	return c
}

func clockNS(clock int32) int64 {
	var t unix.Timespec
	unix.ClockGettime(clock, &t) // these clocks always exist
	return t.Nano()
}

func (c *clockSource) Name() string             { return schemas.Clock.Name }
func (c *clockSource) Tables() []*schemas.Table { return clockTables }

func (c *clockSource) Sample(blocks []schemas.Block) error {
	b := &blocks[0]
	b.WallNS, b.BootNS = c.clock()
	c.watch(b)
	b.Resize(1)
	c.timex = unix.Timex{} // modes 0: only to be read
	if _, err := c.adjtimex(&c.timex); err != nil {
		if !c.refused {
			c.refused = true
			c.notes.add(b, note{reason: "absent", table: schemas.Clock.Name, detail: "adjtimex: " + err.Error()})
		}
		return nil
	}
	fillClock(b, &c.timex)
	return nil
}

var (
	colOffset       = schemas.Clock.Column("offset_s")
	colFrequency    = schemas.Clock.Column("frequency_ppm")
	colMaxError     = schemas.Clock.Column("max_error_s")
	colEstError     = schemas.Clock.Column("est_error_s")
	colSynchronised = schemas.Clock.Column("synchronised")
	colTAIOffset    = schemas.Clock.Column("tai_offset_s")
)

// fillClock fills the row of clock from what adjtimex said.
func fillClock(b *schemas.Block, t *unix.Timex) {
	offset := int64(t.Offset)
	if t.Status&unix.STA_NANO == 0 {
		offset *= 1000 // microseconds
	}
	b.Set(0, colOffset, offset)
	b.Set(0, colFrequency, int64(t.Freq)+(int64(t.Tick)-nominalTick)*(1e6/nominalTick)<<16)
	b.Set(0, colMaxError, int64(t.Maxerror))
	b.Set(0, colEstError, int64(t.Esterror))
	synchronised := int64(1)
	if t.Status&unix.STA_UNSYNC != 0 {
		synchronised = 0
	}
	b.Set(0, colSynchronised, synchronised)
	if t.Tai != 0 { // TAI has been 10 s and more ahead since 1972
		b.Set(0, colTAIOffset, int64(t.Tai))
	}
}

// watch notes a suspend and another clock source since the last tick.
func (c *clockSource) watch(b *schemas.Block) {
	before := c.now(unix.CLOCK_MONOTONIC)
	boot := c.now(unix.CLOCK_BOOTTIME)
	after := c.now(unix.CLOCK_MONOTONIC)
	// However long the readings took, it was suspended for so long at least.
	if ns := boot - after - c.aheadNS; c.ticked && ns > suspendNS {
		c.notes.add(b, note{reason: "suspend", detail: fmt.Sprintf("the host was suspended for %.3f s", float64(ns)*1e-9)})
	}
	c.aheadNS, c.ticked = boot-before, true

	c.counter.read()
	name := bytes.TrimSpace(c.counter.text)
	if len(name) == 0 || bytes.Equal(name, c.name) {
		return
	}
	if len(c.name) > 0 {
		c.notes.add(b, note{reason: "clock-source", detail: fmt.Sprintf("the kernel counts time by %s, before by %s", name, c.name)})
	}
	c.name = append(c.name[:0], name...)
}

// Notes tells of suspends and of clock sources: they may have cost or bent intervals of
// all tables.
func (c *clockSource) Notes(dst []schemas.Row) []schemas.Row { return c.notes.take(dst) }

// Skipped returns 0: nothing here is parsed.
func (c *clockSource) Skipped() (lines int64, example string) { return 0, "" }

func (c *clockSource) Close() error { return c.counter.close() }
