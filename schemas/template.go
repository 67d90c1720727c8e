package schemas

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A template makes a message of one tick without typed rows out of one of the same
// layout: they differ in their counts of nulls, in where the body's buffers are, and in
// the body. What it makes is byte for byte what Arrow's writer would (the test holds it
// to that), for a tenth of the time and without allocation; in a collector that writes
// a message a second it is most of what encoding costs.
//
// Offsets of Message, RecordBatch, FieldNode and Buffer are those of Arrow's
// Message.fbs, their encoding is FlatBuffers'.
type template struct {
	layout Tick
	head   []byte // the schema's message and the record's metadata
	tail   []byte // end of the stream

	// Places in head.
	bodyLength int
	nulls      []int // the null count of each node
	buffers    []int // each buffer's offset; its length is 8 bytes on
}

const (
	continuation = 0xFFFFFFFF // begins a message
	// Fields of Message and RecordBatch.
	fieldHeader, fieldBodyLength = 2, 3
	fieldNodes, fieldBuffers     = 1, 2
	// bitmapPadding is what Arrow's writer rounds a bitmap of nothing but nulls up to.
	bitmapPadding = 64
)

// newTemplate returns the template of a stream that Arrow wrote of a tick, nil if it is
// not the expected one.
func newTemplate(stream []byte, tick *Tick) *template {
	schema, ok := metadataAt(stream, 0)
	if !ok {
		return nil
	}
	meta, ok := metadataAt(stream, schema.end)
	if !ok {
		return nil
	}
	t := &template{head: bytes.Clone(stream[:meta.end])}
	m := table{stream[:meta.end], meta.begin}.root()
	t.bodyLength = m.field(fieldBodyLength)
	batch := m.at(fieldHeader)
	nodes, buffers := batch.at(fieldNodes), batch.at(fieldBuffers)
	if t.bodyLength == 0 || nodes.pos == 0 || buffers.pos == 0 {
		return nil
	}
	for i := range nodes.uint32(0) { // of 16 bytes: length, null count
		t.nulls = append(t.nulls, nodes.pos+4+16*int(i)+8)
	}
	for i := range buffers.uint32(0) { // of 16 bytes: offset, length
		t.buffers = append(t.buffers, buffers.pos+4+16*int(i))
	}
	bodyEnd := meta.end + int(binary.LittleEndian.Uint64(t.head[t.bodyLength:]))
	// A node for seq, two a block; two buffers for seq, three a block.
	if len(t.nulls) != 1+2*len(tick.Blocks) || len(t.buffers) != 2+3*len(tick.Blocks) || bodyEnd > len(stream) {
		return nil
	}
	t.tail = bytes.Clone(stream[bodyEnd:])
	for _, b := range tick.Blocks {
		t.layout.Blocks = append(t.layout.Blocks, Block{Table: b.Table, Devices: b.Devices})
	}
	return t
}

// append appends the stream of a tick of the template's layout.
func (t *template) append(dst []byte, tick *Tick) []byte {
	from := len(dst)
	dst = append(dst, t.head...)
	body := len(dst)
	buffer := 0
	// begins says that the next buffer begins here and will have so many bytes.
	begins := func(n int) {
		at := from + t.buffers[buffer]
		binary.LittleEndian.PutUint64(dst[at:], uint64(len(dst)-body))
		binary.LittleEndian.PutUint64(dst[at+8:], uint64(n))
		buffer++
	}
	nulls := func(node, n int) { binary.LittleEndian.PutUint64(dst[from+t.nulls[node]:], uint64(n)) }
	begins(0) // seq has no nulls
	begins(8)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(tick.Seq))
	for i := range tick.Blocks {
		b := &tick.Blocks[i]
		list, child := 1+2*i, 2+2*i
		cells := 2 + b.Rows()*len(b.Table.Columns)
		if b.Gap {
			nulls(list, 1)
			nulls(child, cells)
			begins(bitmapPadding)
			dst = appendZeros(dst, bitmapPadding)
			bits := roundUp((cells+7)/8, bitmapPadding)
			begins(bits)
			dst = appendZeros(dst, bits)
			begins(8 * cells)
			dst = appendZeros(dst, 8*cells)
			continue
		}
		nulls(list, 0)
		begins(0)
		unknown := 0
		for _, k := range b.Known {
			if !k {
				unknown++
			}
		}
		nulls(child, unknown)
		if unknown == 0 {
			begins(0)
		} else {
			n := (cells + 7) / 8
			begins(n)
			at := len(dst)
			dst = appendZeros(dst, roundUp(n, 8))
			bits := dst[at:]
			bits[0] = 3 // the stamps
			for j, k := range b.Known {
				if k {
					bits[(j+2)/8] |= 1 << ((j + 2) % 8)
				}
			}
		}
		begins(8 * cells)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(b.WallNS))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(b.BootNS))
		dst = slices.Grow(dst, 8*len(b.Values))
		for _, v := range b.Values {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	}
	binary.LittleEndian.PutUint64(dst[from+t.bodyLength:], uint64(len(dst)-body))
	return append(dst, t.tail...)
}

func appendZeros(dst []byte, n int) []byte {
	at := len(dst)
	dst = slices.Grow(dst, n)[:at+n]
	clear(dst[at:])
	return dst
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// span is a part of a stream.
type span struct{ begin, end int }

// metadataAt returns where the metadata of the message at a place is.
func metadataAt(stream []byte, at int) (span, bool) {
	if len(stream) < at+8 || binary.LittleEndian.Uint32(stream[at:]) != continuation {
		return span{}, false
	}
	n := int(binary.LittleEndian.Uint32(stream[at+4:]))
	return span{at + 8, at + 8 + n}, n > 0 && at+8+n <= len(stream)
}

// table is a FlatBuffers table or vector, at a place in b; 0: it is not there.
type table struct {
	b   []byte
	pos int
}

func (t table) uint32(at int) uint32 { return binary.LittleEndian.Uint32(t.b[t.pos+at:]) }

// root returns the table that a buffer at the place begins with.
func (t table) root() table { return table{t.b, t.pos + int(t.uint32(0))} }

// field returns where a field's value is, 0 if it has its default.
func (t table) field(i int) int {
	if t.pos == 0 {
		return 0
	}
	v := t.pos - int(int32(t.uint32(0))) // the vtable: its size, the table's, the fields' offsets
	if size := int(binary.LittleEndian.Uint16(t.b[v:])); 4+2*i+2 > size {
		return 0
	}
	offset := int(binary.LittleEndian.Uint16(t.b[v+4+2*i:]))
	if offset == 0 {
		return 0
	}
	return t.pos + offset
}

// at returns the table or vector that a field refers to.
func (t table) at(i int) table {
	f := t.field(i)
	if f == 0 {
		return table{t.b, 0}
	}
	return table{t.b, f}.root()
}
