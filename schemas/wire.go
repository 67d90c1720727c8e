package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/klauspost/compress/zstd"
)

// WireVersion is the version of the payload; it travels in each message.
const WireVersion = "2"

// MaxPayload bounds what Decode unpacks, and what it lets the Arrow reader allocate for
// a message's body: no message of a server's usual limits comes near it. The reader
// believes the lengths in a message's metadata, which the checksum guards against
// damage, not against forgery: who may publish is the server's to decide.
const MaxPayload = 256 << 20

var (
	// ErrLayout is returned by Encode for ticks that don't share tables and devices:
	// send what there is and begin a new message.
	ErrLayout = errors.New("schemas: the ticks of a message must have the same tables and devices")
	// ErrCorrupt is returned by Decode for a payload that is not ours or damaged.
	ErrCorrupt = errors.New("schemas: corrupt message")
)

// SameLayout reports whether both ticks fit into one message.
func SameLayout(a, b *Tick) bool {
	return slices.EqualFunc(a.Blocks, b.Blocks, func(x, y Block) bool {
		return x.Table == y.Table && slices.Equal(x.Devices, y.Devices)
	})
}

// An Encoder turns ticks into payloads: one Arrow IPC stream, self-contained, of one
// record with a row a tick, compressed as a whole by zstd.
//
// Columns are seq, then a FixedSizeList<int64> a table (wall and boot time of the
// reading in nanoseconds, then the values, row-major by device) and a
// List<Struct> a typed table. A list column a table costs a seventh of the bytes of
// a record a table; whole-message compression with one encoder kept a tenth of the
// CPU time of Arrow's own.
type Encoder struct {
	producer Producer
	zstd     *zstd.Encoder
	raw      bytes.Buffer
	typed    []*Table
	layout   Tick // of the schema kept
	schema   *arrow.Schema

	template *template
	flat     []byte // what the template makes
	out      []byte
}

// NewEncoder returns an encoder for one producer's messages.
func NewEncoder(p Producer) *Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // the options are constants
	}
	return &Encoder{producer: p, zstd: z}
}

// Encode returns the payload of a message with these ticks, which must have
// consecutive sequence numbers and one layout (else ErrLayout). The caller owns the
// result; the ticks may be reused.
func (e *Encoder) Encode(ticks []*Tick) ([]byte, error) {
	if len(ticks) == 0 {
		return nil, errors.New("schemas: a message needs a tick")
	}
	single := len(ticks) == 1 && len(ticks[0].Rows) == 0
	if single && e.template != nil && SameLayout(&e.template.layout, ticks[0]) {
		if err := checkCells(ticks[0]); err != nil {
			return nil, err
		}
		e.flat = e.template.append(e.flat[:0], ticks[0])
		return e.compress(e.flat), nil
	}
	typed := typedTables(ticks)
	for i, t := range ticks {
		if !SameLayout(ticks[0], t) {
			return nil, ErrLayout
		}
		if err := checkCells(t); err != nil {
			return nil, err
		}
		if t.Seq != ticks[0].Seq+int64(i) {
			return nil, fmt.Errorf("schemas: tick %d after tick %d in one message", t.Seq, ticks[i-1].Seq)
		}
	}
	if e.schema == nil || !SameLayout(&e.layout, ticks[0]) || !slices.Equal(e.typed, typed) {
		e.schema = wireSchema(e.producer, ticks[0], typed)
		e.typed = typed
		e.layout.Blocks = e.layout.Blocks[:0]
		for _, b := range ticks[0].Blocks {
			e.layout.Blocks = append(e.layout.Blocks, Block{Table: b.Table, Devices: b.Devices})
		}
	}
	columns := make([]arrow.Array, 0, len(e.schema.Fields()))
	seqs := make([]int64, len(ticks))
	for i, t := range ticks {
		seqs[i] = t.Seq
	}
	columns = append(columns, int64Array(seqs, nil))
	for i := range ticks[0].Blocks {
		columns = append(columns, blockColumn(ticks, i))
	}
	for _, t := range typed {
		columns = append(columns, typedColumn(ticks, t))
	}
	rec := array.NewRecord(e.schema, columns, int64(len(ticks)))
	defer rec.Release()
	e.raw.Reset()
	w := ipc.NewWriter(&e.raw, ipc.WithSchema(e.schema))
	if err := w.Write(rec); err != nil {
		return nil, fmt.Errorf("schemas: encode: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("schemas: encode: %w", err)
	}
	if single {
		e.template = newTemplate(e.raw.Bytes(), ticks[0])
	}
	return e.compress(e.raw.Bytes()), nil
}

// compress returns the payload, which takes no more memory than it needs: it may wait
// long for the server.
func (e *Encoder) compress(raw []byte) []byte {
	e.out = e.zstd.EncodeAll(raw, e.out[:0])
	return bytes.Clone(e.out)
}

// checkCells returns an error if a block has not as many values as cells: Arrow drops
// values in silence where a child's length doesn't fit.
func checkCells(t *Tick) error {
	for i := range t.Blocks {
		b := &t.Blocks[i]
		if b.Rates != nil {
			return fmt.Errorf("schemas: encode: %s: rates of a foreign tool do not travel", b.Table.Name)
		}
		if cells := b.Rows() * len(b.Table.Columns); !b.Gap && (len(b.Values) != cells || len(b.Known) != cells) {
			return fmt.Errorf("schemas: encode: %s: %d values and %d marks for %d cells", b.Table.Name, len(b.Values), len(b.Known), cells)
		}
	}
	return nil
}

func typedTables(ticks []*Tick) []*Table {
	var out []*Table
	for _, t := range ticks {
		for i := range t.Rows {
			if !slices.Contains(out, t.Rows[i].Table) {
				out = append(out, t.Rows[i].Table)
			}
		}
	}
	return out
}

func wireSchema(p Producer, t *Tick, typed []*Table) *arrow.Schema {
	fields := []arrow.Field{{Name: "seq", Type: arrow.PrimitiveTypes.Int64}}
	for _, b := range t.Blocks {
		names := make([]string, len(b.Table.Columns))
		for i := range b.Table.Columns {
			names[i] = b.Table.Columns[i].Name
		}
		n := 2 + b.Rows()*len(names)
		fields = append(fields, arrow.Field{
			Name: b.Table.Name, Type: arrow.FixedSizeListOf(int32(n), arrow.PrimitiveTypes.Int64), Nullable: true,
			Metadata: arrow.NewMetadata([]string{"version", "fields", "devices"},
				[]string{strconv.Itoa(b.Table.Version), mustJSON(names), mustJSON(b.Devices)}),
		})
	}
	for _, t := range typed {
		fields = append(fields, arrow.Field{Name: t.Name, Type: arrow.ListOf(typedStruct(t)), Nullable: true,
			Metadata: arrow.NewMetadata([]string{"version"}, []string{strconv.Itoa(t.Version)})})
	}
	md := arrow.NewMetadata([]string{"steady.wire", "run", "host", "epoch", "boot_id"},
		[]string{WireVersion, p.Run, p.Host, strconv.FormatInt(p.Epoch, 10), p.BootID})
	return arrow.NewSchema(fields, &md)
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

// rowColumns is how many fields a typed table's row has before its columns.
const rowColumns = 4

// typedStruct is the Arrow type of a typed table's row: when it was, then its columns.
func typedStruct(t *Table) *arrow.StructType {
	i64 := arrow.PrimitiveTypes.Int64
	f := []arrow.Field{{Name: "wall_ns", Type: i64}, {Name: "boot_ns", Type: i64}, {Name: "interval_ns", Type: i64}, {Name: "device", Type: arrow.BinaryTypes.String}}
	for i := range t.Columns {
		f = append(f, arrow.Field{Name: t.Columns[i].Name, Type: arrowType(&t.Columns[i]), Nullable: true})
	}
	return arrow.StructOf(f...)
}

func arrowType(c *Column) arrow.DataType {
	switch c.Physical() {
	case Float64:
		return arrow.PrimitiveTypes.Float64
	case String:
		return arrow.BinaryTypes.String
	case Bytes:
		return arrow.BinaryTypes.Binary
	}
	return arrow.PrimitiveTypes.Int64
}

// int64Array wraps v without a copy; known nil means all.
func int64Array(v []int64, known []bool) arrow.Array {
	nulls, bits := validity(known)
	d := array.NewData(arrow.PrimitiveTypes.Int64, len(v),
		[]*memory.Buffer{bits, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(v))}, nil, nulls, 0)
	defer d.Release()
	return array.NewInt64Data(d)
}

func validity(known []bool) (nulls int, bits *memory.Buffer) {
	for _, k := range known {
		if !k {
			nulls++
		}
	}
	if nulls == 0 {
		return 0, nil
	}
	b := make([]byte, (len(known)+7)/8)
	for i, k := range known {
		if k {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return nulls, memory.NewBufferBytes(b)
}

func blockColumn(ticks []*Tick, i int) arrow.Array {
	first := &ticks[0].Blocks[i]
	cells := first.Rows() * len(first.Table.Columns)
	n := 2 + cells
	values := make([]int64, 0, n*len(ticks))
	known := make([]bool, 0, n*len(ticks))
	present := make([]bool, len(ticks))
	for k, t := range ticks {
		b := &t.Blocks[i]
		if b.Gap {
			values = append(values, make([]int64, n)...)
			known = append(known, make([]bool, n)...)
			continue
		}
		present[k] = true
		values = append(append(values, b.WallNS, b.BootNS), b.Values...)
		known = append(append(known, true, true), b.Known...)
	}
	child := int64Array(values, known)
	defer child.Release()
	nulls, bits := validity(present)
	d := array.NewData(arrow.FixedSizeListOf(int32(n), arrow.PrimitiveTypes.Int64), len(ticks),
		[]*memory.Buffer{bits}, []arrow.ArrayData{child.Data()}, nulls, 0)
	defer d.Release()
	return array.NewFixedSizeListData(d)
}

func typedColumn(ticks []*Tick, t *Table) arrow.Array {
	b := array.NewListBuilder(memory.DefaultAllocator, typedStruct(t))
	defer b.Release()
	s := b.ValueBuilder().(*array.StructBuilder)
	stamp := func(i int, v int64) { s.FieldBuilder(i).(*array.Int64Builder).Append(v) }
	for _, tick := range ticks {
		b.Append(true)
		for i := range tick.Rows {
			r := &tick.Rows[i]
			if r.Table != t {
				continue
			}
			s.Append(true)
			stamp(0, r.WallNS)
			stamp(1, r.BootNS)
			stamp(2, r.IntervalNS)
			s.FieldBuilder(3).(*array.StringBuilder).Append(r.Device)
			for c := range t.Columns {
				appendCell(s.FieldBuilder(rowColumns+c), &r.Cells[c])
			}
		}
	}
	return b.NewArray()
}

func appendCell(b array.Builder, c *Cell) {
	// A NaN or an infinity from a tool is not a value.
	if !c.Known || math.IsNaN(c.Float) || math.IsInf(c.Float, 0) {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(c.Int)
	case *array.Float64Builder:
		b.Append(c.Float)
	case *array.StringBuilder:
		b.Append(c.Text)
	case *array.BinaryBuilder:
		b.Append(c.Bytes)
	}
}

// A Decoder turns payloads back into ticks. It is not safe for concurrent use.
type Decoder struct{ zstd *zstd.Decoder }

// NewDecoder returns a decoder.
func NewDecoder() *Decoder {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxPayload))
	if err != nil {
		panic(err) // the options are constants
	}
	return &Decoder{zstd: z}
}

// Decode returns the message of a payload; it owns none of the payload's memory. A
// payload that is damaged, of another version or with a table or column unknown here
// is ErrCorrupt with the cause, and gives no rows.
func (d *Decoder) Decode(payload []byte) (m *Message, err error) {
	defer func() {
		if r := recover(); r != nil { // the Arrow reader panics on some damaged input
			m, err = nil, fmt.Errorf("%w: %v", ErrCorrupt, r)
		}
	}()
	raw, err := d.zstd.DecodeAll(payload, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	in := bytes.NewReader(raw)
	r, err := ipc.NewReader(in, ipc.WithAllocator(&bounded{}))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	defer r.Release()
	m = &Message{}
	if err := m.identify(r.Schema()); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	if !r.Next() {
		return nil, fmt.Errorf("%w: no record: %v", ErrCorrupt, r.Err())
	}
	if err := m.ticks(r.Record()); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	if r.Next() || (r.Err() != nil && r.Err() != io.EOF) || in.Len() != 0 {
		return nil, fmt.Errorf("%w: bytes after the record", ErrCorrupt)
	}
	return m, nil
}

// bounded refuses to allocate what no message of ours needs.
type bounded struct{ memory.GoAllocator }

func (b *bounded) Allocate(size int) []byte {
	if size < 0 || size > MaxPayload {
		panic(fmt.Sprintf("a body of %d bytes", size)) // Decode makes it an error
	}
	return b.GoAllocator.Allocate(size)
}

func (b *bounded) Reallocate(size int, old []byte) []byte {
	if size < 0 || size > MaxPayload {
		panic(fmt.Sprintf("a body of %d bytes", size))
	}
	return b.GoAllocator.Reallocate(size, old)
}

func (m *Message) identify(s *arrow.Schema) error {
	md := s.Metadata()
	get := func(key string) (string, error) {
		if i := md.FindKey(key); i >= 0 {
			return md.Values()[i], nil
		}
		return "", fmt.Errorf("no %q", key)
	}
	v, err := get("steady.wire")
	if err != nil {
		return err
	}
	if v != WireVersion {
		return fmt.Errorf("wire version %q, this steady reads %q", v, WireVersion)
	}
	for _, f := range []struct {
		key string
		to  *string
	}{{"run", &m.Run}, {"host", &m.Host}, {"boot_id", &m.BootID}} {
		if *f.to, err = get(f.key); err != nil {
			return err
		}
	}
	e, err := get("epoch")
	if err != nil {
		return err
	}
	if m.Epoch, err = strconv.ParseInt(e, 10, 64); err != nil || m.Epoch < 0 {
		return fmt.Errorf("epoch %q", e)
	}
	return nil
}

func (m *Message) ticks(rec arrow.Record) error {
	n := int(rec.NumRows())
	fields := rec.Schema().Fields()
	seq, ok := rec.Column(0).(*array.Int64)
	if n == 0 || !ok || fields[0].Name != "seq" || seq.NullN() != 0 {
		return errors.New("no seq")
	}
	m.Ticks = make([]Tick, n)
	for k := range m.Ticks {
		m.Ticks[k].Seq = seq.Value(k)
		if m.Ticks[k].Seq != seq.Value(0)+int64(k) || m.Ticks[k].Seq < 1 {
			return fmt.Errorf("seq %d", m.Ticks[k].Seq)
		}
	}
	for i := 1; i < len(fields); i++ {
		t, err := Lookup(fields[i].Name)
		if err != nil {
			return err
		}
		if v := metadata(&fields[i], "version"); v != strconv.Itoa(t.Version) {
			return fmt.Errorf("table %s version %q, this steady reads %d", t.Name, v, t.Version)
		}
		if t.Typed {
			err = m.typed(t, rec.Column(i))
		} else {
			err = m.blocks(t, &fields[i], rec.Column(i))
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

func metadata(f *arrow.Field, key string) string {
	if i := f.Metadata.FindKey(key); i >= 0 {
		return f.Metadata.Values()[i]
	}
	return ""
}

func (m *Message) blocks(t *Table, f *arrow.Field, col arrow.Array) error {
	list, ok := col.(*array.FixedSizeList)
	if !ok {
		return fmt.Errorf("type %s", col.DataType())
	}
	var names, devices []string
	if err := json.Unmarshal([]byte(metadata(f, "fields")), &names); err != nil {
		return fmt.Errorf("fields: %w", err)
	}
	if err := json.Unmarshal([]byte(metadata(f, "devices")), &devices); err != nil {
		return fmt.Errorf("devices: %w", err)
	}
	if len(names) != len(t.Columns) {
		return fmt.Errorf("%d fields, not %d", len(names), len(t.Columns))
	}
	for i, name := range names {
		if name != t.Columns[i].Name {
			return fmt.Errorf("field %q, not %q", name, t.Columns[i].Name)
		}
	}
	rows := 1
	if t.Device != "" {
		rows = len(devices)
	} else if len(devices) != 0 {
		return errors.New("devices in a table that has none")
	}
	cells := rows * len(names)
	n := 2 + cells
	values, ok := list.ListValues().(*array.Int64)
	if !ok || int(list.DataType().(*arrow.FixedSizeListType).Len()) != n || values.Len() < n*len(m.Ticks) {
		return fmt.Errorf("%d values for %d rows", values.Len(), rows)
	}
	raw := values.Int64Values()
	for k := range m.Ticks {
		b := Block{Table: t, Devices: devices}
		if list.IsNull(k) {
			b.Gap = true
		} else {
			lo := n * (k + list.Data().Offset())
			b.WallNS, b.BootNS = raw[lo], raw[lo+1]
			b.Values = slices.Clone(raw[lo+2 : lo+n])
			b.Known = make([]bool, cells)
			for i := range b.Known {
				b.Known[i] = values.IsValid(lo + 2 + i)
			}
		}
		m.Ticks[k].Blocks = append(m.Ticks[k].Blocks, b)
	}
	return nil
}

func (m *Message) typed(t *Table, col arrow.Array) error {
	list, ok := col.(*array.List)
	if !ok || !arrow.TypeEqual(list.DataType(), arrow.ListOf(typedStruct(t))) {
		return fmt.Errorf("type %s", col.DataType())
	}
	s := list.ListValues().(*array.Struct)
	stamp := func(i int) *array.Int64 { return s.Field(i).(*array.Int64) }
	for k := range m.Ticks {
		if list.IsNull(k) {
			continue
		}
		lo, hi := list.ValueOffsets(k)
		for j := int(lo); j < int(hi); j++ {
			r := NewRow(t, stamp(0).Value(j), stamp(1).Value(j), stamp(2).Value(j))
			r.Device = string([]byte(s.Field(3).(*array.String).Value(j)))
			for c := range t.Columns {
				readCell(&r.Cells[c], s.Field(rowColumns+c), j)
			}
			m.Ticks[k].Rows = append(m.Ticks[k].Rows, r)
		}
	}
	return nil
}

func readCell(c *Cell, a arrow.Array, j int) {
	if a.IsNull(j) {
		return
	}
	c.Known = true
	switch a := a.(type) {
	case *array.Int64:
		c.Int = a.Value(j)
	case *array.Float64:
		if c.Float = a.Value(j); math.IsNaN(c.Float) || math.IsInf(c.Float, 0) {
			*c = Cell{}
		}
	case *array.String:
		c.Text = string([]byte(a.Value(j)))
	case *array.Binary:
		c.Bytes = slices.Clone(a.Value(j))
	}
}
