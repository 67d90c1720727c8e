// Package columns holds typed columns in memory and in Parquet files. It is the only
// place that knows the Parquet library; it knows no table.
package columns

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/steadybench/steady/schemas"
)

// ErrUnreadable is returned for a file that is not Parquet, is cut off or damaged.
var ErrUnreadable = errors.New("not a whole Parquet file")

// Column is one column of n rows. Exactly the slice of its type is filled.
type Column struct {
	Name     string
	Type     schemas.Physical
	Time     bool // Ints are UTC timestamps in microseconds
	Required bool // has no nulls, and Known is nil
	Ints     []int64
	Floats   []float64
	Texts    []string
	Blobs    [][]byte
	Known    []bool // [n]; false is null
}

// Len returns the number of rows.
func (c *Column) Len() int {
	switch c.Type {
	case schemas.Float64:
		return len(c.Floats)
	case schemas.String:
		return len(c.Texts)
	case schemas.Bytes:
		return len(c.Blobs)
	}
	return len(c.Ints)
}

// Null reports whether row i is null.
func (c *Column) Null(i int) bool { return c.Known != nil && !c.Known[i] }

// AppendFrom appends row i of src, a column of the same type.
func (c *Column) AppendFrom(src *Column, i int) {
	switch c.Type {
	case schemas.Float64:
		c.Floats = append(c.Floats, src.Floats[i])
	case schemas.String:
		c.Texts = append(c.Texts, src.Texts[i])
	case schemas.Bytes:
		c.Blobs = append(c.Blobs, src.Blobs[i])
	default:
		c.Ints = append(c.Ints, src.Ints[i])
	}
	if !c.Required {
		c.Known = append(c.Known, !src.Null(i))
	}
}

// AppendNull appends a null to a column that is not Required.
func (c *Column) AppendNull() {
	switch c.Type {
	case schemas.Float64:
		c.Floats = append(c.Floats, 0)
	case schemas.String:
		c.Texts = append(c.Texts, "")
	case schemas.Bytes:
		c.Blobs = append(c.Blobs, nil)
	default:
		c.Ints = append(c.Ints, 0)
	}
	c.Known = append(c.Known, false)
}

// The Append functions append a known value to a column of their type.
func (c *Column) AppendInt(v int64) {
	c.Ints = append(c.Ints, v)
	c.know()
}

func (c *Column) AppendFloat(v float64) {
	c.Floats = append(c.Floats, v)
	c.know()
}

func (c *Column) AppendText(v string) {
	c.Texts = append(c.Texts, v)
	c.know()
}

func (c *Column) AppendBlob(v []byte) {
	c.Blobs = append(c.Blobs, v)
	c.know()
}

func (c *Column) know() {
	if !c.Required {
		c.Known = append(c.Known, true)
	}
}

// Reset empties the column and keeps its memory.
func (c *Column) Reset() {
	c.Ints, c.Floats, c.Texts, c.Blobs, c.Known = c.Ints[:0], c.Floats[:0], c.Texts[:0], c.Blobs[:0], c.Known[:0]
}

// Frame is columns of the same length, in file order.
type Frame []*Column

// Rows returns the number of rows.
func (f Frame) Rows() int {
	if len(f) == 0 {
		return 0
	}
	return f[0].Len()
}

// Column returns the named column, or nil.
func (f Frame) Column(name string) *Column {
	for _, c := range f {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Reset empties all columns and keeps their memory.
func (f Frame) Reset() {
	for _, c := range f {
		c.Reset()
	}
}

// orderedGroup keeps the columns' order, which parquet.Group sorts by name.
type orderedGroup struct {
	parquet.Group
	order []string
}

func (g orderedGroup) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(g.order, a.Name()) - slices.Index(g.order, b.Name())
	})
	return fields
}

// A Writer writes frames as row groups of one Parquet file. DELTA_BINARY_PACKED and
// zstd made the smallest files of all that was measured on counters and increments;
// pages of 1 MiB saved another tenth. LZ4 is never used: the library's reader
// damages it.
type Writer struct {
	w      *parquet.GenericWriter[any]
	schema Frame
	buf    []parquet.Value
}

// NewWriter returns a writer of files with the columns of schema (whose rows it
// ignores) and this key-value metadata.
func NewWriter(w io.Writer, schema Frame, metadata map[string]string) *Writer {
	g := orderedGroup{Group: parquet.Group{}}
	for _, c := range schema {
		g.Group[c.Name] = node(c)
		g.order = append(g.order, c.Name)
	}
	opts := []parquet.WriterOption{
		parquet.NewSchema("steady", g),
		parquet.Compression(&parquet.Zstd),
		parquet.PageBufferSize(1 << 20),
		parquet.CreatedBy("steady", schemas.WireVersion, ""),
	}
	for _, k := range sortedKeys(metadata) {
		opts = append(opts, parquet.KeyValueMetadata(k, metadata[k]))
	}
	return &Writer{w: parquet.NewGenericWriter[any](w, opts...), schema: schema}
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func node(c *Column) parquet.Node {
	var n parquet.Node
	switch {
	case c.Time:
		n = parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.DeltaBinaryPacked)
	case c.Type == schemas.Float64:
		n = parquet.Leaf(parquet.DoubleType)
	case c.Type == schemas.String:
		n = parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case c.Type == schemas.Bytes:
		n = parquet.Leaf(parquet.ByteArrayType)
	default:
		n = parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked)
	}
	if !c.Required {
		n = parquet.Optional(n)
	}
	return n
}

// WriteGroup writes the frame's rows as one row group. The frame must have the
// columns of the writer's schema, all of one length.
func (w *Writer) WriteGroup(f Frame) error {
	if len(f) != len(w.schema) {
		return fmt.Errorf("columns: %d columns for a schema of %d", len(f), len(w.schema))
	}
	for i, c := range f {
		if c.Name != w.schema[i].Name || c.Len() != f.Rows() || (!c.Required && len(c.Known) != c.Len()) {
			return fmt.Errorf("columns: %s: %d rows of %d, %d marks", c.Name, c.Len(), f.Rows(), len(c.Known))
		}
	}
	if f.Rows() == 0 {
		return nil
	}
	for i, cw := range w.w.ColumnWriters() {
		if err := w.writeColumn(cw, f[i], i); err != nil {
			return fmt.Errorf("columns: %s: %w", f[i].Name, err)
		}
	}
	return w.w.Flush()
}

func (w *Writer) writeColumn(cw *parquet.ColumnWriter, c *Column, index int) error {
	const batch = 4096
	level := 0
	if !c.Required {
		level = 1
	}
	for from := 0; from < c.Len(); from += batch {
		to := min(from+batch, c.Len())
		w.buf = w.buf[:0]
		for i := from; i < to; i++ {
			if c.Null(i) {
				w.buf = append(w.buf, parquet.NullValue().Level(0, 0, index))
				continue
			}
			var v parquet.Value
			switch c.Type {
			case schemas.Float64:
				v = parquet.DoubleValue(c.Floats[i])
			case schemas.String:
				v = parquet.ByteArrayValue([]byte(c.Texts[i]))
			case schemas.Bytes:
				v = parquet.ByteArrayValue(c.Blobs[i])
			default:
				v = parquet.Int64Value(c.Ints[i])
			}
			w.buf = append(w.buf, v.Level(0, level, index))
		}
		if _, err := cw.WriteRowValues(w.buf); err != nil {
			return err
		}
	}
	return nil
}

// Close writes the footer. A file without it can't be opened.
func (w *Writer) Close() error { return w.w.Close() }

// A File is an open Parquet file.
type File struct {
	path string
	f    *os.File
	p    *parquet.File
	// columns are the file's columns, without rows.
	columns Frame
}

// Open opens a file. A file that is not whole is ErrUnreadable, with its path and
// what to do.
func Open(path string) (f *File, err error) {
	defer caught(path, &err)
	osf, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	st, err := osf.Stat()
	if err != nil {
		osf.Close()
		return nil, fmt.Errorf("columns: %w", err)
	}
	p, err := parquet.OpenFile(osf, st.Size(), parquet.SkipBloomFilters(true))
	if err != nil {
		osf.Close()
		return nil, unreadable(path, err)
	}
	f = &File{path: path, f: osf, p: p}
	for _, field := range p.Schema().Fields() {
		c := &Column{Name: field.Name(), Required: field.Required()}
		if !field.Leaf() {
			osf.Close()
			return nil, unreadable(path, fmt.Errorf("column %s is nested", c.Name))
		}
		switch field.Type().Kind() {
		case parquet.Int64:
			c.Type = schemas.Int64
			_, c.Time = logicalType(field).(*format.TimestampType)
		case parquet.Double:
			c.Type = schemas.Float64
		case parquet.ByteArray:
			c.Type = schemas.Bytes
			if _, ok := logicalType(field).(*format.StringType); ok {
				c.Type = schemas.String
			}
		default:
			osf.Close()
			return nil, unreadable(path, fmt.Errorf("column %s has type %s", c.Name, field.Type()))
		}
		f.columns = append(f.columns, c)
	}
	return f, nil
}

func logicalType(n parquet.Node) any {
	if lt := n.Type().LogicalType(); lt != nil {
		return lt.Value
	}
	return nil
}

func unreadable(path string, cause any) error {
	return fmt.Errorf("columns: %s: %w: %v: copy it again from its source, or remove it", path, ErrUnreadable, cause)
}

// caught turns a panic of the library on damaged input into an error.
func caught(path string, err *error) {
	if r := recover(); r != nil {
		*err = unreadable(path, r)
	}
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// Rows returns the file's number of rows.
func (f *File) Rows() int64 { return f.p.NumRows() }

// Groups returns the number of row groups.
func (f *File) Groups() int { return len(f.p.RowGroups()) }

// Columns returns the file's columns, without rows.
func (f *File) Columns() Frame { return f.columns }

// Metadata returns the value of a key of the file's metadata, "" if there is none.
func (f *File) Metadata(key string) string {
	v, _ := f.p.Lookup(key)
	return v
}

// Read returns the named columns, all their rows, in this order; without names, all
// columns. A column that the file doesn't have is an error that names it.
func (f *File) Read(names ...string) (out Frame, err error) {
	defer caught(f.path, &err)
	if len(names) == 0 {
		for _, c := range f.columns {
			names = append(names, c.Name)
		}
	}
	for _, name := range names {
		i := slices.IndexFunc(f.columns, func(c *Column) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("columns: %s: no column %s", f.path, name)
		}
		c := *f.columns[i]
		for _, g := range f.p.RowGroups() {
			if err := readChunk(&c, g.ColumnChunks()[i]); err != nil {
				return nil, unreadable(f.path, fmt.Errorf("column %s: %w", name, err))
			}
		}
		if int64(c.Len()) != f.p.NumRows() {
			return nil, unreadable(f.path, fmt.Errorf("column %s has %d of %d rows", name, c.Len(), f.p.NumRows()))
		}
		out = append(out, &c)
	}
	return out, nil
}

func readChunk(c *Column, chunk parquet.ColumnChunk) error {
	pages := chunk.Pages()
	defer pages.Close()
	for {
		p, err := pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		err = readPage(c, p)
		parquet.Release(p)
		if err != nil {
			return err
		}
	}
}

// readPage appends a page's rows. Pages of plain numbers are read in bulk: several
// times faster than by values.
func readPage(c *Column, p parquet.Page) error {
	if p.Dictionary() == nil && (c.Type == schemas.Int64 || c.Type == schemas.Float64) {
		data := p.Data()
		if c.Required {
			if c.Type == schemas.Int64 {
				c.Ints = append(c.Ints, data.Int64()...)
			} else {
				c.Floats = append(c.Floats, data.Double()...)
			}
			return nil
		}
		k := 0
		for _, level := range p.DefinitionLevels() {
			switch {
			case level == 0:
				c.AppendNull()
				continue
			case c.Type == schemas.Int64:
				c.AppendInt(data.Int64()[k])
			default:
				c.AppendFloat(data.Double()[k])
			}
			k++
		}
		return nil
	}
	r := p.Values()
	var buf [512]parquet.Value
	for {
		n, err := r.ReadValues(buf[:])
		for _, v := range buf[:n] {
			switch {
			case v.IsNull():
				c.AppendNull()
			case c.Type == schemas.String:
				// Names repeat row after row: one string for all of them.
				if n := len(c.Texts); n > 0 && c.Texts[n-1] == string(v.ByteArray()) {
					c.AppendText(c.Texts[n-1])
				} else {
					c.AppendText(string(v.ByteArray()))
				}
			case c.Type == schemas.Bytes:
				c.AppendBlob(slices.Clone(v.ByteArray()))
			case c.Type == schemas.Float64:
				c.AppendFloat(v.Double())
			default:
				c.AppendInt(v.Int64())
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
