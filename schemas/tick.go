package schemas

import (
	"math"
	"slices"
	"strconv"
)

// NoWall as a wall time says that it is not known: imported data may tell only the
// time since their start.
const NoWall = math.MinInt64

// Block is one table at one tick, all of its devices: what a source read at once.
//
// Values and Known are row-major, len(Devices) x columns (one row where the table
// has no device). A value that is not Known is null and means nothing.
type Block struct {
	Table  *Table
	WallNS int64 // wall clock at the reading, Unix nanoseconds
	BootNS int64 // CLOCK_BOOTTIME at the reading
	// Gap says that the reading failed: the block keeps its devices, so that the
	// layout of the message stays, and carries no values.
	Gap     bool
	Devices []string
	Values  []int64
	Known   []bool
	// IntervalNS is the length of the interval that ends here, where a foreign tool
	// says so; 0: the time since the block before.
	IntervalNS int64
	// Rates are a foreign tool's own rates and percentages, row-major, len(Devices) x
	// Table.Stored(), NaN for null; nil where there are none. They don't travel.
	Rates []float64
}

// Rows returns the number of rows of the block.
func (b *Block) Rows() int {
	if b.Table.Device == "" {
		return 1
	}
	return len(b.Devices)
}

// Resize makes room for n rows, all of them unknown. It allocates only to grow.
func (b *Block) Resize(n int) {
	n *= len(b.Table.Columns)
	b.Values = slices.Grow(b.Values[:0], n)[:n]
	b.Known = slices.Grow(b.Known[:0], n)[:n]
	clear(b.Values)
	clear(b.Known)
}

// Set sets column c of row r.
func (b *Block) Set(r, c int, v int64) {
	i := r*len(b.Table.Columns) + c
	b.Values[i], b.Known[i] = v, true
}

// SetRate sets the named one of Table.Stored() in row r. It panics if there is no such
// metric: the names are the program's, not the file's.
func (b *Block) SetRate(r int, metric string, v float64) {
	stored := b.Table.Stored()
	k := slices.IndexFunc(stored, func(m Metric) bool { return m.Name == metric })
	if k < 0 {
		panic("schemas: table " + b.Table.Name + " stores no " + metric)
	}
	for len(b.Rates) < b.Rows()*len(stored) {
		b.Rates = append(b.Rates, math.NaN())
	}
	b.Rates[r*len(stored)+k] = v
}

// SetDevice names row r, which must be at most one past the last. It allocates only
// when the name is another than before: the kernel lists the same devices each tick.
func (b *Block) SetDevice(r int, name []byte) {
	if r < len(b.Devices) {
		if b.Devices[r] != string(name) {
			b.Devices = slices.Clone(b.Devices) // a tick handed on may still hold the old list
			b.Devices[r] = string(name)
		}
		return
	}
	b.Devices = append(slices.Clone(b.Devices), string(name))
}

// Cell is one value of a typed row.
type Cell struct {
	Known bool
	Int   int64
	Float float64
	Text  string
	Bytes []byte
}

// Row is one row of a typed table. Cells are in the order of the table's columns.
type Row struct {
	Table *Table
	// Device is the part of the host or the load that the row is about, in a table
	// that has devices.
	Device     string
	WallNS     int64 // wall clock at the end of the row's interval
	BootNS     int64 // CLOCK_BOOTTIME at the end of the interval
	IntervalNS int64 // 0: the row has no interval
	Cells      []Cell
}

// NewRow returns a row of t with all cells null.
func NewRow(t *Table, wallNS, bootNS, intervalNS int64) Row {
	return Row{Table: t, WallNS: wallNS, BootNS: bootNS, IntervalNS: intervalNS, Cells: make([]Cell, len(t.Columns))}
}

func (r *Row) cell(column string) *Cell {
	i := r.Table.Column(column)
	if i < 0 {
		panic("schemas: table " + r.Table.Name + " has no column " + column)
	}
	r.Cells[i].Known = true
	return &r.Cells[i]
}

// The setters make the named cell known. They panic if the table has no such column.
func (r *Row) SetInt(column string, v int64)     { r.cell(column).Int = v }
func (r *Row) SetText(column, v string)          { r.cell(column).Text = v }
func (r *Row) SetBytes(column string, v []byte)  { r.cell(column).Bytes = v }
func (r *Row) SetFloat(column string, v float64) { r.cell(column).Float = v }

// Clean makes each NaN and infinity of the row null and returns a row of table quality
// for each, saying so: a tool may print them, they are no values.
func (r *Row) Clean() []Row {
	var notes []Row
	for i := range r.Cells {
		c := &r.Cells[i]
		if !c.Known || !(math.IsNaN(c.Float) || math.IsInf(c.Float, 0)) {
			continue
		}
		q := NewRow(&Quality, r.WallNS, r.BootNS, 0)
		q.SetText("reason", "nan")
		q.SetText("table", r.Table.Name)
		q.SetText("column", r.Table.Columns[i].Name)
		q.SetText("part", "")
		q.SetText("current", strconv.FormatFloat(c.Float, 'g', -1, 64))
		q.SetText("detail", "not a number: the value is unknown")
		*c = Cell{}
		notes = append(notes, q)
	}
	return notes
}

// QualityRow returns a row of table quality about a whole table, or about the
// producer where table is empty.
func QualityRow(wall, boot int64, reason, table, detail string) Row {
	r := NewRow(&Quality, wall, boot, 0)
	r.SetText("reason", reason)
	r.SetText("table", table)
	r.SetText("column", "")
	r.SetText("part", "")
	r.SetText("detail", detail)
	return r
}

// Tick is all that a producer has to say at one of its ticks.
type Tick struct {
	Seq    int64 // from 1, without holes
	Blocks []Block
	Rows   []Row
}

// Producer is a process that publishes ticks into a run.
type Producer struct {
	Run    string // ULID
	Host   string
	Epoch  int64  // random, not negative, drawn at the start
	BootID string // the kernel's boot_id
}

// Message is a decoded payload.
type Message struct {
	Producer
	Ticks []Tick
}
