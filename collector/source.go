// Package collector samples a host: sources read what the kernel says, a sampler
// holds their second and hands the ticks on. It knows nothing of the network.
package collector

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

// A Source reads one part of the system.
type Source interface {
	// Name is the source's name in table collector ("stat", "meminfo").
	Name() string
	// Tables are the tables that it fills, in the order of Sample's blocks.
	Tables() []*schemas.Table
	// Sample reads the source once and fills blocks, one a table, stamped with the
	// wall and boot time of the reading. The blocks are those of the tick before, to
	// be filled again: a reading must not allocate unless the devices changed. On
	// error the blocks' values mean nothing, and the tick is a gap in these tables.
	Sample(blocks []schemas.Block) error
	// Close gives back what the source holds open.
	Close() error
}

// A Noter is a source that has events to tell beside its tables: a suspend, a clock
// source that changed.
type Noter interface {
	// Notes appends the events that the last Sample found to dst, as rows of table
	// quality (see [schemas.QualityRow]), and returns it. It is called after each Sample, failed
	// ones too, and allocates only if there are any.
	Notes(dst []schemas.Row) []schemas.Row
}

// A Clock returns the wall clock (Unix) and the boot time clock, in nanoseconds.
type Clock func() (wallNS, bootNS int64)

// Now is the kernel's Clock: CLOCK_REALTIME and CLOCK_BOOTTIME, read in succession.
func Now() (wallNS, bootNS int64) {
	// A call that can't block need not tell the Go scheduler; these clocks always exist.
	var t unix.Timespec
	unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&t)), 0)
	return time.Now().UnixNano(), t.Nano()
}

// A Sink takes a producer's ticks.
type Sink interface {
	// Tick takes a tick; the caller reuses it afterwards. It does not wait for the
	// network or the disk. An error says that the tick was refused, and is counted.
	Tick(t *schemas.Tick) error
}
