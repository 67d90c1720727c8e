package procfs

import (
	"bytes"
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

var (
	netFullDuplex  = schemas.Net.Column("full_duplex")
	carrierChanges = schemas.Link.Column("carrier_changes")
	linkUp         = schemas.Link.Column("up")
	linkMTU        = schemas.Link.Column("mtu_bytes")
)

// netSource is the source of net, to which it adds what /sys says of the interfaces that
// /proc/net/dev names, and of link.
type netSource struct {
	*source
	links *links
}

var netTables = []*schemas.Table{&schemas.Net, &schemas.Link}

func (s *netSource) Tables() []*schemas.Table { return netTables }

// Sample fails only where /proc/net/dev does.
func (s *netSource) Sample(blocks []schemas.Block) error {
	net, link := &blocks[0], &blocks[1]
	if err := s.source.Sample(blocks[:1]); err != nil {
		return err
	}
	link.WallNS, link.BootNS = net.WallNS, net.BootNS
	s.links.read(net.Devices, net.BootNS)
	s.links.fill(net, link, &s.bad)
	return nil
}

func (s *netSource) Close() error {
	errs := []error{s.source.Close()}
	for _, x := range s.links.of {
		errs = append(errs, x.close())
	}
	return errors.Join(errs...)
}

// links reads the files of interfaces.
//
// Reading speed and duplex asks the driver, and takes the lock of all network
// configuration: they are read when the carrier changed, and every lookEvery for what
// changes without (a bond's speed).
type links struct {
	h    *host
	of   map[string]*link
	due  int64
	tick int64
}

// link is an interface's files.
type link struct {
	changes, state, mtu, speed, duplex cell

	carrier []byte // what changes said when mtu, speed and duplex were read
	tick    int64  // the last one that had the interface
}

func newLinks(h *host) *links {
	return &links{h: h, of: make(map[string]*link)}
}

// read brings the files of these interfaces up to date.
func (l *links) read(interfaces []string, bootNS int64) {
	slow := bootNS >= l.due
	if slow {
		l.due = bootNS + lookEvery
	}
	l.tick++
	for _, name := range interfaces {
		x := l.of[name]
		if x == nil {
			x = &link{}
			x.open(l.h, name)
			l.of[name] = x
		}
		x.read(slow)
		// Another interface of the same name came, or its directory was late.
		if x.state.err == unix.ENODEV || x.state.r == nil && slow {
			x.close() // nothing was written
			x.open(l.h, name)
		}
		x.tick = l.tick
	}
	if len(l.of) > len(interfaces) {
		for name, x := range l.of {
			if x.tick != l.tick {
				x.close() // nothing was written
				delete(l.of, name)
			}
		}
	}
}

func (x *link) open(h *host, name string) {
	open := func(t *schemas.Table, col int, fill filler) cell {
		c := cell{path: filepath.Join(h.sys, "class/net", name, t.Columns[col].Source), col: col, rows: []int{0}, fill: fill}
		c.open(h, nil)
		return c
	}
	x.changes = open(&schemas.Link, carrierChanges, fillCounter)
	x.state = open(&schemas.Link, linkUp, fillValue(operational))
	x.mtu = open(&schemas.Link, linkMTU, fillGauge)
	x.speed = open(&schemas.Net, netSpeed, fillValue(linkSpeed))
	x.duplex = open(&schemas.Net, netFullDuplex, fillValue(duplex))
	x.carrier = append(x.carrier[:0], x.changes.text...)
}

func (x *link) close() error {
	var errs []error
	for _, c := range []*cell{&x.changes, &x.state, &x.mtu, &x.speed, &x.duplex} {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

func (x *link) read(slow bool) {
	x.state.read()
	x.changes.read()
	if slow || !bytes.Equal(x.changes.text, x.carrier) {
		x.carrier = append(x.carrier[:0], x.changes.text...)
		x.mtu.read()
		x.speed.read()
		x.duplex.read()
	}
}

// fill adds speed and duplex to the rows of net, and fills link with a row for each
// interface that has files. What can't be read is null: the kernel has no speed of an
// interface that is down (EINVAL).
func (l *links) fill(net, block *schemas.Block, bad *skips) {
	block.Resize(len(net.Devices))
	row := 0
	for netRow, name := range net.Devices {
		x := l.of[name]
		if x == nil || x.state.r == nil {
			continue
		}
		x.speed.into(net, netRow, bad)
		x.duplex.into(net, netRow, bad)
		x.changes.into(block, row, bad)
		x.state.into(block, row, bad)
		x.mtu.into(block, row, bad)
		if row >= len(block.Devices) || block.Devices[row] != name {
			block.SetDevice(row, []byte(name))
		}
		row++
	}
	trim(block, row)
}

func (c *cell) into(b *schemas.Block, row int, bad *skips) {
	if c.err != nil {
		return
	}
	c.rows[0] = row
	if f := c.fill(c, b); f.why != "" {
		bad.add(c.short, 1, f)
	}
}

// linkSpeed returns the Mbit/s of a link. Drivers that don't know say -1, some in 16 or 32
// bits without a sign, or 0.
func linkSpeed(text []byte) (v int64, known bool, f fault) {
	v, f = integer(text)
	return v, v > 0 && v != 1<<16-1 && v != 1<<32-1, f
}

func duplex(text []byte) (v int64, known bool, f fault) {
	switch string(text) {
	case "full":
		return 1, true, f
	case "half":
		return 0, true, f
	case "unknown":
		return 0, false, f
	}
	return 0, false, fault{text, "not a duplex mode"}
}

// operational returns what an operstate says (RFC 2863).
func operational(text []byte) (v int64, known bool, f fault) {
	switch string(text) {
	case "up":
		return 1, true, f
	case "down", "lowerlayerdown", "dormant", "notpresent", "testing":
		return 0, true, f
	case "unknown":
		return 0, false, f
	}
	return 0, false, fault{text, "not an operational state"}
}
