package schemas

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/klauspost/compress/zstd"
)

var testProducer = Producer{Run: "01J0000000000000000000000A", Host: "host 1/ä", Epoch: math.MaxInt64, BootID: "8c2b"}

// odd are the patterns that a counter may have.
var odd = []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 9007199254740993, -2}

// ticksOf makes n ticks with all tables in them: blocks of several devices with nulls
// and now and then a gap, and typed rows.
func ticksOf(seed uint64, n int) []*Tick {
	r := rand.New(rand.NewPCG(seed, 3))
	var out []*Tick
	for k := range n {
		t := &Tick{Seq: int64(k) + 7}
		for _, table := range Tables {
			if table.Typed {
				for range r.IntN(3) {
					t.Rows = append(t.Rows, rowOf(r, table))
				}
				continue
			}
			b := Block{Table: table, WallNS: r.Int64(), BootNS: r.Int64()}
			if table.Device != "" {
				for d := range len(table.Name) % 4 {
					b.SetDevice(d, []byte(fmt.Sprint(`<d" `, d)))
				}
			}
			b.Resize(b.Rows())
			for row := range b.Rows() {
				for c := range table.Columns {
					if r.IntN(3) > 0 {
						b.Set(row, c, odd[r.IntN(len(odd))])
					}
				}
			}
			if r.IntN(5) == 0 {
				b = Block{Table: table, Gap: true, Devices: b.Devices}
			}
			t.Blocks = append(t.Blocks, b)
		}
		out = append(out, t)
	}
	return out
}

func rowOf(r *rand.Rand, t *Table) Row {
	row := NewRow(t, r.Int64(), r.Int64(), r.Int64())
	for i := range t.Columns {
		c := &t.Columns[i]
		if r.IntN(3) == 0 {
			continue
		}
		switch c.Physical() {
		case Float64:
			row.SetFloat(c.Name, []float64{0, -1.5, math.MaxFloat64, math.SmallestNonzeroFloat64}[r.IntN(4)])
		case String:
			row.SetText(c.Name, []string{"", "ä", "a\x00b"}[r.IntN(3)])
		case Bytes:
			row.SetBytes(c.Name, []byte{0, 255, byte(r.IntN(256))})
		default:
			row.SetInt(c.Name, odd[r.IntN(len(odd))])
		}
	}
	return row
}

func encode(t testing.TB, ticks []*Tick) []byte {
	t.Helper()
	b, err := NewEncoder(testProducer).Encode(ticks)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pointers is a message's ticks as Encode takes them.
func pointers(m *Message) []*Tick {
	var out []*Tick
	for i := range m.Ticks {
		out = append(out, &m.Ticks[i])
	}
	return out
}

// plain is a tick as a reader sees it: typed rows by table, values only where known.
func plain(ticks []*Tick) string {
	var b strings.Builder
	for _, t := range ticks {
		fmt.Fprintf(&b, "tick %d\n", t.Seq)
		for _, x := range t.Blocks {
			fmt.Fprintf(&b, "%s %q gap %v", x.Table.Name, x.Devices, x.Gap)
			if !x.Gap {
				fmt.Fprintf(&b, " %d %d", x.WallNS, x.BootNS)
			}
			for i, v := range x.Values {
				if x.Known[i] {
					fmt.Fprintf(&b, " %d:%d", i, v)
				}
			}
			b.WriteString("\n")
		}
		for _, table := range Tables {
			for _, r := range t.Rows {
				if r.Table == table {
					fmt.Fprintf(&b, "%s %d %d %d", table.Name, r.WallNS, r.BootNS, r.IntervalNS)
					for i, c := range r.Cells {
						if c.Known {
							fmt.Fprintf(&b, " %d:%d %v %q %x", i, c.Int, c.Float, c.Text, c.Bytes)
						}
					}
					b.WriteString("\n")
				}
			}
		}
	}
	return b.String()
}

// What was encoded comes back, of every table, with every pattern of 64 bits, nulls,
// gaps and typed rows, and encodes to the same bytes again.
func TestWireRoundTrip(t *testing.T) {
	for seed := range uint64(30) {
		ticks := ticksOf(seed, 1+int(seed%5))
		payload := encode(t, ticks)
		m, err := NewDecoder().Decode(payload)
		if err != nil {
			t.Fatal(err)
		}
		if m.Producer != testProducer {
			t.Errorf("producer %+v", m.Producer)
		}
		if got, want := plain(pointers(m)), plain(ticks); got != want {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, got, want)
		}
		if again := encode(t, pointers(m)); !bytes.Equal(again, payload) {
			t.Fatalf("seed %d: %d bytes, encoded again %d others", seed, len(payload), len(again))
		}
	}
}

// One encoder makes of each message what a new one would: nothing stays from before.
func TestEncoderKeepsNothing(t *testing.T) {
	e := NewEncoder(testProducer)
	for seed := range uint64(6) {
		ticks := ticksOf(seed%3, 2)
		if seed == 4 {
			for _, x := range ticks {
				x.Blocks, x.Rows = x.Blocks[:2], nil
			}
		}
		got, err := e.Encode(ticks)
		if err != nil || !bytes.Equal(got, encode(t, ticks)) {
			t.Errorf("message %d: another payload, %v", seed, err)
		}
	}
}

// The decoded message holds none of the payload's memory.
func TestDecodedMessageOwnsItsMemory(t *testing.T) {
	payload := encode(t, ticksOf(1, 3))
	d := NewDecoder()
	m, err := d.Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	want := plain(pointers(m))
	clear(payload)
	if _, err := d.Decode(encode(t, ticksOf(2, 3))); err != nil {
		t.Fatal(err)
	}
	if plain(pointers(m)) != want {
		t.Error("the message changed")
	}
}

// Ticks whose devices differ are no one message, and what does not fit together is
// refused before it is sent.
func TestEncodeRefuses(t *testing.T) {
	one := func(seq int64, devices ...string) *Tick {
		b := Block{Table: &CPU, Devices: devices}
		b.Resize(len(devices))
		return &Tick{Seq: seq, Blocks: []Block{b}}
	}
	short, marks := one(1, "0", "1"), one(1, "0")
	short.Blocks[0].Values = short.Blocks[0].Values[1:]
	marks.Blocks[0].Known = append(marks.Blocks[0].Known, true)
	for _, tt := range []struct {
		name  string
		ticks []*Tick
		is    error
		says  string
	}{
		{"nothing", nil, nil, "a message needs a tick"},
		{"another device", []*Tick{one(1, "0"), one(2, "1")}, ErrLayout, ""},
		{"one device more", []*Tick{one(1, "0"), one(2, "0", "1")}, ErrLayout, ""},
		{"one table more", []*Tick{one(1, "0"), {Seq: 2, Blocks: append(one(2, "0").Blocks, Block{Table: &Load})}}, ErrLayout, ""},
		{"a hole", []*Tick{one(1, "0"), one(3, "0")}, nil, "tick 3 after tick 1"},
		{"too few values", []*Tick{short}, nil, "cpu: 19 values and 20 marks for 20 cells"},
		{"too many marks", []*Tick{marks}, nil, "cpu: 10 values and 11 marks for 10 cells"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewEncoder(testProducer).Encode(tt.ticks)
			if err == nil || (tt.is != nil && !errors.Is(err, tt.is)) || !strings.Contains(err.Error(), tt.says) {
				t.Error(err)
			}
		})
	}
}

// A payload that is cut off anywhere, or has one bit turned, gives an error or the
// very rows that were sent. It never gives others, and never panics.
func TestDamagedPayloadGivesNoOtherRows(t *testing.T) {
	ticks := ticksOf(5, 2)
	for i := range ticks {
		ticks[i].Blocks = []Block{ticks[i].Blocks[0], ticks[i].Blocks[2]} // few tables: each bit is tried
	}
	payload := encode(t, ticks)
	want := plain(ticks)
	d := NewDecoder()
	same, refused := 0, 0
	try := func(what string, b []byte) {
		m, err := d.Decode(b)
		switch {
		case err != nil && !errors.Is(err, ErrCorrupt):
			t.Errorf("%s: %v", what, err)
		case err != nil:
			refused++
		case m.Producer != testProducer || plain(pointers(m)) != want:
			t.Errorf("%s: other rows", what)
		default:
			same++
		}
	}
	for n := range payload {
		if _, err := d.Decode(payload[:n]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut off after %d bytes: %v", n, err)
		}
	}
	for bit := range 8 * len(payload) {
		b := bytes.Clone(payload)
		b[bit/8] ^= 1 << (bit % 8)
		try(fmt.Sprint("bit ", bit), b)
	}
	for _, more := range []string{"\x00", "x", string(payload)} {
		if _, err := d.Decode(append(bytes.Clone(payload), more...)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("with %d bytes more: %v", len(more), err)
		}
	}
	t.Logf("of %d turned bits %d were refused, %d changed nothing", 8*len(payload), refused, same)
}

var packer = func() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err)
	}
	return z
}()

// packed packs an Arrow stream as Encode does.
func packed(t testing.TB, raw []byte) []byte { return packer.EncodeAll(raw, nil) }

func unpacked(t testing.TB, payload []byte) []byte {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	raw, err := z.DecodeAll(payload, nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// bodyOf returns where the values of an Arrow stream of one record begin: after the
// schema's message and the record's own metadata.
func bodyOf(raw []byte) int {
	at := 0
	for range 2 {
		at += 8 + int(binary.LittleEndian.Uint32(raw[at+4:]))
	}
	return at
}

// Values that no encoder makes, their checksum right, are refused without a panic or
// are values.
func TestForgedValues(t *testing.T) {
	raw := unpacked(t, encode(t, ticksOf(5, 2)))
	body := bodyOf(raw)
	d := NewDecoder()
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		b := bytes.Clone(raw)
		for range 1 + r.IntN(3) {
			b[body+r.IntN(len(b)-body)] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(r.IntN(256))}[r.IntN(6)]
		}
		if _, err := d.Decode(packed(t, b)); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	}
	if _, err := d.Decode(packed(t, append(bytes.Clone(raw), 0))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte after the stream: %v", err)
	}
	if _, err := d.Decode(packed(t, make([]byte, MaxPayload+1))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("more than the limit: %v", err)
	}
}

// stream makes a payload with a schema and a record of its own.
func stream(t *testing.T, md map[string]string, fields []arrow.Field, fill func(*array.RecordBuilder), records int) []byte {
	t.Helper()
	meta := arrow.MetadataFrom(md)
	s := arrow.NewSchema(fields, &meta)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s))
	for range records {
		rb := array.NewRecordBuilder(memory.DefaultAllocator, s)
		fill(rb)
		if err := w.Write(rb.NewRecord()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed(t, b.Bytes())
}

// What this steady does not know is refused by name.
func TestDecodeNamesWhatItDoesNotKnow(t *testing.T) {
	i64 := arrow.PrimitiveTypes.Int64
	head := map[string]string{"steady.wire": WireVersion, "run": "R", "host": "h", "epoch": "1", "boot_id": "b"}
	but := func(key, value string) map[string]string {
		md := map[string]string{}
		for k, v := range head {
			md[k] = v
		}
		if md[key] = value; value == "" {
			delete(md, key)
		}
		return md
	}
	load := func(version, fields, devices string, name string, width int32) []arrow.Field {
		return []arrow.Field{{Name: "seq", Type: i64}, {Name: name, Type: arrow.FixedSizeListOf(width, i64), Nullable: true,
			Metadata: arrow.NewMetadata([]string{"version", "fields", "devices"}, []string{version, fields, devices})}}
	}
	const columns = `["ldavg_1","ldavg_5","ldavg_15","runq_sz","plist_sz","blocked"]`
	plainSeq := []arrow.Field{{Name: "seq", Type: i64}}
	seqs := func(v ...int64) func(*array.RecordBuilder) {
		return func(rb *array.RecordBuilder) {
			rb.Field(0).(*array.Int64Builder).AppendValues(v, nil)
			for i := 1; i < len(rb.Fields()); i++ {
				for range v {
					rb.Field(i).AppendNull()
				}
			}
		}
	}
	one := seqs(1)
	for _, tt := range []struct {
		name    string
		payload []byte
		says    string
	}{
		{"wire version", stream(t, but("steady.wire", "9"), plainSeq, one, 1), `wire version "9", this steady reads "2"`},
		{"no wire version", stream(t, but("steady.wire", ""), plainSeq, one, 1), `no "steady.wire"`},
		{"no host", stream(t, but("host", ""), plainSeq, one, 1), `no "host"`},
		{"no epoch", stream(t, but("epoch", ""), plainSeq, one, 1), `no "epoch"`},
		{"epoch", stream(t, but("epoch", "-1"), plainSeq, one, 1), `epoch "-1"`},
		{"no record", stream(t, head, plainSeq, one, 0), "no record"},
		{"two records", stream(t, head, plainSeq, one, 2), "bytes after the record"},
		{"no rows", stream(t, head, plainSeq, seqs(), 1), "no seq"},
		{"no seq", stream(t, head, []arrow.Field{{Name: "sequence", Type: i64}}, one, 1), "no seq"},
		{"seq 0", stream(t, head, plainSeq, seqs(0), 1), "seq 0"},
		{"a hole", stream(t, head, plainSeq, seqs(1, 3), 1), "seq 3"},
		{"table", stream(t, head, load("1", columns, "null", "loads", 8), one, 1), `no table "loads": there are cpu, memory`},
		{"table version", stream(t, head, load("2", columns, "null", "load", 8), one, 1), `table load version "2", this steady reads 1`},
		{"column", stream(t, head, load("1", strings.Replace(columns, "runq_sz", "runq", 1), "null", "load", 8), one, 1), `table load: field "runq", not "runq_sz"`},
		{"too few columns", stream(t, head, load("1", `["ldavg_1"]`, "null", "load", 3), one, 1), "table load: 1 fields, not 6"},
		{"devices", stream(t, head, load("1", columns, `["0"]`, "load", 8), one, 1), "table load: devices in a table that has none"},
		{"width", stream(t, head, load("1", columns, "null", "load", 9), one, 1), "table load: 9 values for 1 rows"},
		{"fields not JSON", stream(t, head, load("1", "", "null", "load", 8), one, 1), "table load: fields: "},
		{"devices not JSON", stream(t, head, load("1", columns, "", "load", 8), one, 1), "table load: devices: "},
		{"type", stream(t, head, []arrow.Field{{Name: "seq", Type: i64}, {Name: "load", Type: i64, Nullable: true, Metadata: arrow.NewMetadata([]string{"version"}, []string{"1"})}}, one, 1), "table load: type int64"},
		{"typed table's type", stream(t, head, []arrow.Field{{Name: "seq", Type: i64}, {Name: "workload", Type: arrow.ListOf(i64), Nullable: true, Metadata: arrow.NewMetadata([]string{"version"}, []string{"2"})}}, one, 1), "table workload: type list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := NewDecoder().Decode(tt.payload)
			if m != nil || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v %v", m, err)
			}
		})
	}
	if m, err := NewDecoder().Decode(stream(t, head, load("1", columns, "null", "load", 8), one, 1)); err != nil || !m.Ticks[0].Blocks[0].Gap {
		t.Errorf("the stream that all these differ from: %v", err)
	}
}

// NaN and infinity are not values: they travel as nulls, and a row of quality says so.
func TestNaNIsNoValue(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		row := NewRow(&Workload, 1, 2, 3)
		row.SetFloat("operations", v)
		row.SetFloat("latency_mean_s", 0.5)
		unclean := encode(t, []*Tick{{Seq: 1, Rows: []Row{row}}})
		notes := row.Clean()
		if len(notes) != 1 || row.Cells[2].Known || !row.Cells[4].Known || len(row.Clean()) != 0 {
			t.Fatalf("%v: %+v", v, row)
		}
		var got []string
		for _, c := range notes[0].Cells {
			got = append(got, c.Text)
		}
		want := []string{"workload", "operations", "", "nan", "", strconv.FormatFloat(v, 'g', -1, 64), "not a number: the value is unknown"}
		if !reflect.DeepEqual(got, want) || notes[0].WallNS != 1 || notes[0].BootNS != 2 {
			t.Errorf("%q", got)
		}
		if clean := encode(t, []*Tick{{Seq: 1, Rows: []Row{row}}}); !bytes.Equal(clean, unclean) {
			t.Errorf("%v travels", v)
		}
	}
	// A stream made elsewhere may carry one.
	f := array.NewFloat64Builder(memory.DefaultAllocator)
	f.AppendValues([]float64{math.NaN(), math.Inf(1), 1}, nil)
	a := f.NewArray()
	for i := range 3 {
		var c Cell
		readCell(&c, a, i)
		if c.Known != (i == 2) {
			t.Errorf("value %d: %+v", i, c)
		}
	}
}

// The setters of a block and a row are told apart by their table's columns.
func TestSetters(t *testing.T) {
	var b Block
	b.Table = &CPU
	b.SetDevice(0, []byte("0"))
	b.SetDevice(1, []byte("1"))
	held := b.Devices
	b.SetDevice(1, []byte("8"))
	b.SetDevice(2, []byte("9"))
	if !reflect.DeepEqual(held, []string{"0", "1"}) || !reflect.DeepEqual(b.Devices, []string{"0", "8", "9"}) {
		t.Errorf("held %q, now %q", held, b.Devices)
	}
	b.Resize(3)
	b.Set(2, 1, 5)
	b.Resize(3)
	if b.Values[21] != 0 || b.Known[21] || (&Block{Table: &Load}).Rows() != 1 {
		t.Error("a resized block is empty")
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic on a column that there is not")
		}
	}()
	r := NewRow(&Workload, 0, 0, 0)
	r.SetInt("none", 1)
}

// FuzzDecode: whatever comes, Decode does not panic; what it takes encodes and decodes
// to the same again.
func FuzzDecode(f *testing.F) {
	// As values: in place of those of a stream that is one.
	raw := unpacked(f, encode(f, ticksOf(5, 2)))
	body := bodyOf(raw)
	f.Add([]byte(nil), false)
	f.Add(raw[body:], true)
	for seed := range uint64(4) {
		f.Add(encode(f, ticksOf(seed, 2)), false)
	}
	d := NewDecoder()
	f.Fuzz(func(t *testing.T, b []byte, values bool) {
		if values {
			x := bytes.Clone(raw)
			copy(x[body:], b)
			b = packed(t, x)
		}
		m, err := d.Decode(b)
		if err != nil {
			if m != nil || !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%v %v", m, err)
			}
			return
		}
		again, err := NewEncoder(m.Producer).Encode(pointers(m))
		if err != nil {
			t.Fatalf("taken, and can't be encoded: %v", err)
		}
		m2, err := d.Decode(again)
		if err != nil || m2.Producer != m.Producer || plain(pointers(m2)) != plain(pointers(m)) {
			t.Fatalf("encoded again it is another: %v", err)
		}
		third, err := NewEncoder(m2.Producer).Encode(pointers(m2))
		if err != nil || !bytes.Equal(third, again) {
			t.Fatalf("what decodes does not encode to the same bytes: %v", err)
		}
	})
}
