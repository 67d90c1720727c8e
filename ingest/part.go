package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/schemas"
)

// A part is a directory live/RUN-ID/part-N with part.json and a file a table, raw
// readings as they came. It appears whole, by one rename, or not at all.
type part struct {
	Schema string `json:"schema"`
	Run    string `json:"run_id"`
	// Stream and Last say up to which message of the stream this run is durable.
	Stream string `json:"stream"`
	Last   uint64 `json:"last_stream_seq"`
	// Floor says up to which message of the stream every run was durable when this
	// part was begun: a restart reads on from there.
	Floor     uint64            `json:"floor_stream_seq"`
	Controls  []schemas.Control `json:"controls"`
	Producers []partProducer    `json:"producers"`
	Boots     []partBoot        `json:"boots"`
	Tables    map[string]int64  `json:"tables"`
	// Refused are messages that can't be read; their bytes lie beside.
	Refused []refusal `json:"refused"`

	dir string
}

// partProducer is what of a producer's ticks is in a part.
type partProducer struct {
	Host       string          `json:"host"`
	Epoch      int64           `json:"epoch"`
	BootID     string          `json:"boot_id"`
	Ranges     []schemas.Range `json:"ranges"`
	Duplicates int64           `json:"duplicates"`
}

// partBoot is the span of a part's readings on one boot of a host, and the first of
// them on both clocks.
type partBoot struct {
	Host        string `json:"host"`
	BootID      string `json:"boot_id"`
	FirstWallNS int64  `json:"first_wall_ns"`
	FirstBootNS int64  `json:"first_boot_ns"`
	LastBootNS  int64  `json:"last_boot_ns"`
}

// refusal is a message that could not be read.
type refusal struct {
	StreamSeq uint64 `json:"stream_seq"`
	Cause     string `json:"cause"`
}

const (
	partSchema = "steady.part/1"
	partPrefix = "part-"
	newPrefix  = ".new-"
)

// Columns of a part's files before the table's own.
var rawCommon = []columns.Column{
	{Name: "host", Type: schemas.String, Required: true},
	{Name: "boot_id", Type: schemas.String, Required: true},
	{Name: "epoch", Required: true},
	{Name: "seq", Required: true},
	{Name: "wall_ns", Required: true},
	{Name: "boot_ns", Required: true},
	{Name: "interval_ns", Required: true},
	{Name: "device", Type: schemas.String, Required: true},
}

// Places in rawCommon.
const (
	rawHost = iota
	rawBootID
	rawEpoch
	rawSeq
	rawWall
	rawBoot
	rawInterval
	rawDevice
	rawValues
)

// rawFrame returns an empty frame of a table's raw rows: all integers as on the wire,
// and where they come from a foreign tool its rates behind them.
func rawFrame(t *schemas.Table, rates bool) columns.Frame {
	var f columns.Frame
	for i := range rawCommon {
		c := rawCommon[i]
		f = append(f, &c)
	}
	for i := range t.Columns {
		c := &columns.Column{Name: t.Columns[i].Name}
		if t.Typed {
			c.Type = t.Columns[i].Physical()
		}
		f = append(f, c)
	}
	if rates {
		for _, m := range t.Stored() {
			f = append(f, &columns.Column{Name: m.Name, Type: schemas.Float64})
		}
	}
	return f
}

// hasRates reports whether a raw frame of t has a foreign tool's rates.
func hasRates(t *schemas.Table, f columns.Frame) bool { return len(f) > rawValues+len(t.Columns) }

// grow gives a raw frame the columns for rates, null in the rows that it has.
func grow(t *schemas.Table, f columns.Frame) columns.Frame {
	rows := f.Rows()
	for _, m := range t.Stored() {
		f = append(f, &columns.Column{Name: m.Name, Type: schemas.Float64, Floats: make([]float64, rows), Known: make([]bool, rows)})
	}
	return f
}

// appendBlock appends a block's rows.
func appendBlock(f columns.Frame, p schemas.Producer, seq int64, b *schemas.Block) {
	n := len(b.Table.Columns)
	rates := f[rawValues+n:]
	for r := range b.Rows() {
		device := ""
		if b.Table.Device != "" {
			device = b.Devices[r]
		}
		appendRaw(f, p, seq, b.WallNS, b.BootNS, b.IntervalNS, device)
		for c := range n {
			if b.Known[r*n+c] {
				f[rawValues+c].AppendInt(b.Values[r*n+c])
			} else {
				f[rawValues+c].AppendNull()
			}
		}
		for k, c := range rates {
			if i := r*len(rates) + k; i < len(b.Rates) && !math.IsNaN(b.Rates[i]) && !math.IsInf(b.Rates[i], 0) {
				c.AppendFloat(b.Rates[i])
			} else {
				c.AppendNull()
			}
		}
	}
}

func appendRow(f columns.Frame, p schemas.Producer, seq int64, row *schemas.Row) {
	appendRaw(f, p, seq, row.WallNS, row.BootNS, row.IntervalNS, row.Device)
	for i := range row.Cells {
		c, cell := f[rawValues+i], &row.Cells[i]
		switch {
		case !cell.Known, math.IsNaN(cell.Float), math.IsInf(cell.Float, 0):
			c.AppendNull()
		case c.Type == schemas.Float64:
			c.AppendFloat(cell.Float)
		case c.Type == schemas.String:
			c.AppendText(cell.Text)
		case c.Type == schemas.Bytes:
			c.AppendBlob(cell.Bytes)
		default:
			c.AppendInt(cell.Int)
		}
	}
}

func appendRaw(f columns.Frame, p schemas.Producer, seq, wall, boot, interval int64, device string) {
	f[rawHost].AppendText(p.Host)
	f[rawBootID].AppendText(p.BootID)
	f[rawEpoch].AppendInt(p.Epoch)
	f[rawSeq].AppendInt(seq)
	f[rawWall].AppendInt(wall)
	f[rawBoot].AppendInt(boot)
	f[rawInterval].AppendInt(interval)
	f[rawDevice].AppendText(device)
}

// writePart makes the part's directory durable: files, directory, rename, parent.
func (s *Store) writePart(run string, n int, p *part, tables map[*schemas.Table]columns.Frame, refused map[uint64][]byte) error {
	home := s.liveDir(run)
	tmp := filepath.Join(home, fmt.Sprintf("%s%06d", newPrefix, n))
	p.dir = filepath.Join(home, fmt.Sprintf("%s%06d", partPrefix, n))
	if err := os.RemoveAll(tmp); err != nil { // of an earlier end
		return err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	p.Tables = map[string]int64{}
	for _, t := range schemas.Tables {
		f := tables[t]
		if f.Rows() == 0 {
			continue
		}
		p.Tables[t.Name] = int64(f.Rows())
		if err := s.writeFile(filepath.Join(tmp, t.Name+".part"), func(file *os.File) error {
			w := columns.NewWriter(file, f, nil)
			return errors.Join(w.WriteGroup(f), w.Close())
		}); err != nil {
			return err
		}
	}
	for seq, data := range refused {
		if err := s.writeFile(filepath.Join(tmp, refusedName(seq)), func(file *os.File) error {
			_, err := file.Write(data)
			return err
		}); err != nil {
			return err
		}
	}
	if err := s.writeFile(filepath.Join(tmp, "part.json"), func(file *os.File) error {
		return json.NewEncoder(file).Encode(p)
	}); err != nil {
		return err
	}
	return s.publish(tmp, p.dir)
}

func refusedName(seq uint64) string { return fmt.Sprintf("refused-%d.bin", seq) }

// writeFile writes and syncs a file.
func (s *Store) writeFile(path string, write func(*os.File) error) error {
	s.step("write " + filepath.Base(path))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	s.step("sync " + filepath.Base(path))
	if !s.Volatile {
		if err := f.Sync(); err != nil {
			f.Close()
			return err
		}
	}
	return f.Close()
}

// publish renames a finished directory to its final name, durably.
func (s *Store) publish(tmp, final string) error {
	s.step("sync directory")
	if err := s.syncDir(tmp); err != nil {
		return err
	}
	s.step("rename")
	if err := os.Rename(tmp, final); err != nil {
		return err
	}
	s.step("sync parent")
	err := errors.Join(s.syncDir(filepath.Dir(tmp)), s.syncDir(filepath.Dir(final)))
	s.step("published")
	return err
}

func (s *Store) syncDir(path string) error {
	if s.Volatile {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readParts returns the parts of a live run in order. Leftovers of an unfinished
// write are passed over.
func (s *Store) readParts(run string) ([]*part, error) {
	home := s.liveDir(run)
	entries, err := os.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var parts []*part
	for _, e := range entries { // sorted by name
		path := filepath.Join(home, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), partPrefix):
			p, err := readPart(path)
			if err != nil {
				return nil, err
			}
			parts = append(parts, p)
		}
	}
	return parts, nil
}

func readPart(dir string) (*part, error) {
	b, err := os.ReadFile(filepath.Join(dir, "part.json"))
	if err != nil {
		return nil, err
	}
	p := &part{dir: dir}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("%s: part.json: %w", dir, err)
	}
	if p.Schema != partSchema {
		return nil, fmt.Errorf("%s: schema %q, this steady reads %s", dir, p.Schema, partSchema)
	}
	return p, nil
}

// readTable returns a part's rows of a table, or nil if it has none.
func (p *part) readTable(t *schemas.Table) (columns.Frame, error) {
	if p.Tables[t.Name] == 0 {
		return nil, nil
	}
	f, err := columns.Open(filepath.Join(p.dir, t.Name+".part"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Read()
}

// ranges is a set of sequence numbers as ascending, disjoint ranges.
type ranges []schemas.Range

// add adds seq and reports whether it was not there yet.
func (r *ranges) add(seq int64) bool {
	i, found := slices.BinarySearchFunc(*r, seq, func(x schemas.Range, seq int64) int {
		switch {
		case x.Last < seq:
			return -1
		case x.First > seq:
			return 1
		}
		return 0
	})
	if found {
		return false
	}
	joinsLeft := i > 0 && (*r)[i-1].Last == seq-1
	joinsRight := i < len(*r) && (*r)[i].First == seq+1
	switch {
	case joinsLeft && joinsRight:
		(*r)[i-1].Last = (*r)[i].Last
		*r = slices.Delete(*r, i, i+1)
	case joinsLeft:
		(*r)[i-1].Last = seq
	case joinsRight:
		(*r)[i].First = seq
	default:
		*r = slices.Insert(*r, i, schemas.Range{First: seq, Last: seq})
	}
	return true
}

// merge adds all of other.
func (r *ranges) merge(other []schemas.Range) {
	for _, x := range other {
		*r = append(*r, x)
	}
	slices.SortFunc(*r, func(a, b schemas.Range) int { return int(min(max(a.First-b.First, -1), 1)) })
	out := (*r)[:0]
	for _, x := range *r {
		if n := len(out); n > 0 && x.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, x.Last)
			continue
		}
		out = append(out, x)
	}
	*r = out
}

func (r ranges) count() (n int64) {
	for _, x := range r {
		n += x.Last - x.First + 1
	}
	return n
}

// missing returns what of 1..last is not in the set.
func (r ranges) missing(last int64) []schemas.Range {
	var out []schemas.Range
	next := int64(1)
	for _, x := range r {
		if x.First > next && next <= last {
			out = append(out, schemas.Range{First: next, Last: min(x.First-1, last)})
		}
		next = max(next, x.Last+1)
	}
	if next <= last {
		out = append(out, schemas.Range{First: next, Last: last})
	}
	return out
}
