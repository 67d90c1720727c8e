package ingest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/schemas"
)

// ErrRunExists is returned by Finish when another run has the folder's place.
var ErrRunExists = errors.New("another run has this number")

// groupSpan is the time that a row group spans: groups of a minute cost seven times
// the bytes and fifty times the reading.
const groupSpan = time.Hour

// Finish makes the run's folder from what is in Flush's parts and returns its path
// and manifest. The folder appears whole, by one rename, and is read back before
// Finish returns; made before, it is returned as it is. cause, if not empty, is why
// the run is ended although it is not over.
func (s *Store) Finish(id, cause string) (dir string, m *schemas.Manifest, err error) {
	r := s.runs[id]
	if r == nil {
		return "", nil, fmt.Errorf("ingest: no live run %s", id)
	}
	if err := s.flushRun(r); err != nil {
		return "", nil, fmt.Errorf("ingest: run %s: part: %w", id, diskFull(err))
	}
	open := r.open()
	if open == nil {
		return "", nil, fmt.Errorf("ingest: run %s: nobody said what it is: it stays in %s", id, s.liveDir(id))
	}
	dir = RunDir(s.dir, open.Experiment, open.System, open.Scenario, open.Run)
	if old, err := ReadManifest(dir); err == nil {
		if late := r.late(old); old.ID == id && late == 0 {
			return dir, old, nil
		} else if old.ID == id {
			return dir, old, fmt.Errorf("ingest: run %s: %s: %w, or it went on after its folder was made: %d more ticks stay in %s: give what follows another number", id, dir, ErrRunExists, late, s.liveDir(id))
		}
		return dir, old, fmt.Errorf("ingest: run %s: %s: %w (%s): give the run another number; its rows stay in %s", id, dir, ErrRunExists, old.ID, s.liveDir(id))
	}
	m, err = s.makeFolder(r, dir, cause)
	if err != nil {
		return dir, nil, fmt.Errorf("ingest: run %s: %w", id, diskFull(err))
	}
	return dir, m, nil
}

// late returns how many ticks are here that the run's folder doesn't have.
func (r *liveRun) late(m *schemas.Manifest) (n int64) {
	folder := map[producerKey]ranges{}
	for _, a := range m.Producers {
		missing := ranges(a.Missing)
		folder[producerKey{a.Host, a.Epoch}] = missing.missing(a.Received + missing.count())
	}
	for k, p := range r.producers {
		both := slices.Clone(folder[k])
		before := both.count()
		both.merge(p.received)
		n += both.count() - before
	}
	return n
}

// RunDir returns where a run's folder is.
func RunDir(data, experiment, system, scenario string, run int) string {
	return filepath.Join(data, "runs", "experiment="+experiment, "system="+system, "scenario="+scenario, fmt.Sprintf("run=%02d", run))
}

// ReadManifest reads a run folder's manifest.
func ReadManifest(dir string) (*schemas.Manifest, error) {
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	m, err := schemas.DecodeManifest(b)
	if err != nil {
		return nil, fmt.Errorf("ingest: %s: %w", dir, err)
	}
	return m, nil
}

// WriteManifest replaces a run folder's manifest, by one rename.
func WriteManifest(dir string, m *schemas.Manifest) error {
	s := &Store{step: func(string) {}}
	tmp := filepath.Join(dir, ".manifest.json")
	err := s.writeFile(tmp, func(f *os.File) error { return encodeManifest(f, m) })
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, "manifest.json"))
	}
	if err == nil {
		err = s.syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("ingest: %s: %w", dir, err)
	}
	return nil
}

func encodeManifest(w io.Writer, m *schemas.Manifest) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(m)
}

func (s *Store) makeFolder(r *liveRun, dir, cause string) (*schemas.Manifest, error) {
	tmp := filepath.Join(s.liveDir(r.id), newPrefix+"folder")
	if err := os.RemoveAll(tmp); err != nil {
		return nil, err
	}
	m, err := s.fill(r, tmp, cause)
	if err != nil {
		return nil, err
	}
	if err := s.mkdirSynced(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	if err := s.publish(tmp, dir); err != nil {
		return nil, err
	}
	return m, verify(dir, m)
}

// Snapshot makes a folder, at dir, of what is in parts of a run still going on, for
// reading while its ingest goes on; its status is incomplete.
func Snapshot(data, id, dir string) error {
	s := &Store{Volatile: true, dir: data, runs: map[string]*liveRun{}, step: func(string) {}}
	if err := s.load(id); err != nil {
		return fmt.Errorf("ingest: live run %s: %w", id, err)
	}
	if s.runs[id].open() == nil {
		return fmt.Errorf("ingest: live run %s: nobody said what it is", id)
	}
	if _, err := s.fill(s.runs[id], dir, "still going on"); err != nil {
		return fmt.Errorf("ingest: live run %s: %w", id, err)
	}
	return nil
}

// FindLive returns the id of the live run that name means: an id, or
// EXPERIMENT/SYSTEM/SCENARIO/NN; "" if there is none.
func FindLive(data, name string) string {
	entries, err := os.ReadDir(filepath.Join(data, "live"))
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if e.Name() == name {
			return name
		}
		s := &Store{dir: data, runs: map[string]*liveRun{}}
		if !e.IsDir() || s.load(e.Name()) != nil {
			continue
		}
		if o := s.runs[e.Name()].open(); o != nil && fmt.Sprintf("%s/%s/%s/%02d", o.Experiment, o.System, o.Scenario, o.Run) == name {
			return e.Name()
		}
	}
	return ""
}

// fill writes a run's files into a new directory.
func (s *Store) fill(r *liveRun, tmp, cause string) (*schemas.Manifest, error) {
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, err
	}
	c := newConversion(r)
	m := c.manifest(cause)
	for _, t := range schemas.Tables {
		if t == &schemas.Quality {
			continue // last: the other tables' conversion fills it
		}
		if t.Files {
			if err := s.writeOutputs(tmp, m, t, c); err != nil {
				return nil, fmt.Errorf("table %s: %w", t.Name, err)
			}
			continue
		}
		if err := s.writeTable(tmp, m, t, func(w *columns.Writer) (int64, error) { return c.convert(t, w) }); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	if err := s.writeTable(tmp, m, &schemas.Quality, c.convertQuality); err != nil {
		return nil, fmt.Errorf("table quality: %w", err)
	}
	c.account(m)
	for _, p := range r.parts {
		for _, x := range p.Refused {
			if err := s.copyRefused(p, x, tmp); err != nil {
				return nil, err
			}
		}
	}
	return m, s.writeFile(filepath.Join(tmp, "manifest.json"), func(f *os.File) error { return encodeManifest(f, m) })
}

// writeOutputs joins the pieces of what tools printed to files in tool-output. Two hosts
// may print to the same name: then a folder for each tells them apart.
func (s *Store) writeOutputs(tmp string, m *schemas.Manifest, t *schemas.Table, c *conversion) error {
	type file struct{ host, name string }
	pieces := map[file][][]byte{}
	hosts := map[string]bool{}
	name, data := rawValues+t.Column("name"), rawValues+t.Column("data")
	err := c.buckets(t, func(raw columns.Frame) error {
		for _, i := range c.sorted(raw) {
			k := file{raw[rawHost].Texts[i], outputName(raw[name].Texts[i])}
			hosts[k.host] = true
			pieces[k] = append(pieces[k], raw[data].Blobs[i])
		}
		return nil
	})
	if err != nil || len(pieces) == 0 {
		return err
	}
	dirs := map[string]bool{filepath.Join(tmp, "tool-output"): true}
	for _, k := range slices.SortedFunc(maps.Keys(pieces), func(a, b file) int { return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.name, b.name)) }) {
		path := filepath.Join(tmp, "tool-output", k.name)
		if len(hosts) > 1 {
			path = filepath.Join(tmp, "tool-output", schemas.HostToken(k.host), k.name)
			dirs[filepath.Dir(path)] = true
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		sum := sha256.New()
		out := schemas.OutputFile{Host: k.host}
		if out.Name, err = filepath.Rel(filepath.Join(tmp, "tool-output"), path); err != nil {
			return err
		}
		err := s.writeFile(path, func(f *os.File) error {
			w := io.MultiWriter(f, sum)
			for _, p := range pieces[k] {
				n, err := w.Write(p)
				out.Bytes += int64(n)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		out.SHA256 = hex.EncodeToString(sum.Sum(nil))
		m.Outputs = append(m.Outputs, out)
	}
	for d := range dirs {
		if err := s.syncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// outputName returns a name that is one file below its folder, whatever was sent.
func outputName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, name)
	if strings.Trim(name, ".") == "" || len(name) > 200 {
		return "output"
	}
	return name
}

func (s *Store) copyRefused(p *part, x refusal, tmp string) error {
	b, err := os.ReadFile(filepath.Join(p.dir, refusedName(x.StreamSeq)))
	if err != nil {
		return err
	}
	return s.writeFile(filepath.Join(tmp, refusedName(x.StreamSeq)), func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}

// mkdirSynced makes a directory and its parents durable.
func (s *Store) mkdirSynced(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := s.mkdirSynced(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.syncDir(parent)
}

// writeTable writes a table's file, or none where it has no rows.
func (s *Store) writeTable(dir string, m *schemas.Manifest, t *schemas.Table, fill func(*columns.Writer) (int64, error)) error {
	metadata, err := t.FileMetadata()
	if err != nil {
		return err
	}
	name := filepath.Join(dir, t.Name+".parquet")
	sum := sha256.New()
	var rows, size int64
	err = s.writeFile(name, func(f *os.File) error {
		count := &countingWriter{w: io.MultiWriter(f, sum)}
		w := columns.NewWriter(count, fileFrame(t), metadata)
		var err error
		if rows, err = fill(w); err != nil {
			return err
		}
		err = w.Close()
		size = count.n
		return err
	})
	if err != nil {
		return err
	}
	if rows == 0 {
		return os.Remove(name)
	}
	m.Tables = append(m.Tables, schemas.TableFile{Table: t.Name, Version: t.Version, Rows: rows, Bytes: size, SHA256: hex.EncodeToString(sum.Sum(nil))})
	return nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// verify reads the footers of a folder's files back.
func verify(dir string, m *schemas.Manifest) error {
	for _, t := range m.Tables {
		f, err := columns.Open(filepath.Join(dir, t.Table+".parquet"))
		if err != nil {
			return err
		}
		rows := f.Rows()
		if err := f.Close(); err != nil {
			return err
		}
		if rows != t.Rows {
			return fmt.Errorf("%s.parquet: %d rows, %d were written", t.Table, rows, t.Rows)
		}
	}
	return nil
}

// fileFrame returns an empty frame with a table's columns as in a run folder.
func fileFrame(t *schemas.Table) columns.Frame {
	var f columns.Frame
	for _, c := range t.CommonColumns() {
		f = append(f, &columns.Column{Name: c.Name, Type: c.Physical(), Time: c.Name == "time",
			Required: c.Name != "time" && c.Name != "interval_ns"})
	}
	for i := range t.Columns {
		f = append(f, &columns.Column{Name: t.Columns[i].Name, Type: t.Columns[i].Physical()})
	}
	for _, m := range t.Stored() {
		f = append(f, &columns.Column{Name: m.Name, Type: schemas.Float64})
	}
	return f
}

// conversion turns a run's parts into its folder.
type conversion struct {
	r       *liveRun
	start   schemas.Stamp
	boots   map[bootKey]*bootOrigin
	quality columns.Frame // in the columns of the file, unsorted
	stepped map[tickKey]bool
	lastNS  int64
}

type bootOrigin struct {
	index    int64
	originNS int64
	byWall   bool
	lastNS   int64 // last reading, boot clock
	firstNS  int64
	wallNS   int64
}

type tickKey struct {
	host  string
	epoch int64
	seq   int64
}

func newConversion(r *liveRun) *conversion {
	c := &conversion{r: r, boots: map[bootKey]*bootOrigin{}, quality: fileFrame(&schemas.Quality), stepped: map[tickKey]bool{}}
	// The run starts with its earliest opening.
	for i := range r.controls {
		if x := &r.controls[i]; x.Kind == "open" && (c.start.Host == "" || x.At.WallNS < c.start.WallNS) {
			c.start = x.At
		}
	}
	for _, p := range r.parts {
		for _, b := range p.Boots {
			k := bootKey{b.Host, b.BootID}
			o := c.boots[k]
			if o == nil {
				o = &bootOrigin{firstNS: b.FirstBootNS, wallNS: b.FirstWallNS}
				c.boots[k] = o
			}
			if b.FirstBootNS < o.firstNS {
				o.firstNS, o.wallNS = b.FirstBootNS, b.FirstWallNS
			}
			o.lastNS = max(o.lastNS, b.LastBootNS)
		}
	}
	stamps := map[bootKey]schemas.Stamp{}
	for i := range r.controls {
		at := r.controls[i].At
		k := bootKey{at.Host, at.BootID}
		if _, ok := stamps[k]; !ok {
			stamps[k] = at
		}
	}
	for k, o := range c.boots {
		at, ok := stamps[k]
		if !ok {
			at = schemas.Stamp{Host: k.host, WallNS: o.wallNS, BootNS: o.firstNS, BootID: k.bootID}
		}
		if k.host == c.start.Host && k.bootID == c.start.BootID {
			at = c.start
		} else {
			o.byWall = true
		}
		o.originNS = at.BootNS - (at.WallNS - c.start.WallNS)
	}
	// A host's boots are numbered as they came.
	keys := slices.SortedFunc(maps.Keys(c.boots), func(a, b bootKey) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(c.boots[a].wallNS, c.boots[b].wallNS), cmp.Compare(a.bootID, b.bootID))
	})
	for i, k := range keys {
		if i > 0 && keys[i-1].host == k.host {
			c.boots[k].index = c.boots[keys[i-1]].index + 1
		}
	}
	for k, o := range c.boots {
		c.lastNS = max(c.lastNS, o.lastNS-o.originNS)
		if o.index > 0 {
			c.note(noteAt{wall: o.wallNS, elapsed: o.firstNS - o.originNS, boot: o.index, host: k.host},
				"", "", "", "reboot", nil, nil, "the host booted again; elapsed time continues by wall time")
		}
	}
	return c
}

// elapsed returns a moment in the run's time.
func (c *conversion) elapsed(at schemas.Stamp) int64 {
	if o := c.boots[bootKey{at.Host, at.BootID}]; o != nil {
		return at.BootNS - o.originNS
	}
	return at.WallNS - c.start.WallNS
}

// buckets returns the rows of a table in spans of time: each call of yield gets all
// rows of one span, unsorted. Parts overlap in time where a host was cut off.
func (c *conversion) buckets(t *schemas.Table, yield func(columns.Frame) error) error {
	span := groupSpan.Nanoseconds()
	type extent struct {
		p        *part
		from, to int64
	}
	var parts []extent
	var last int64
	for _, p := range c.r.parts {
		if p.Tables[t.Name] == 0 {
			continue
		}
		e := extent{p: p, from: 1<<63 - 1, to: -1 << 63}
		for _, b := range p.Boots {
			o := c.boots[bootKey{b.Host, b.BootID}]
			e.from, e.to = min(e.from, b.FirstBootNS-o.originNS), max(e.to, b.LastBootNS-o.originNS)
		}
		parts = append(parts, e)
		last = max(last, e.to)
	}
	if len(parts) == 0 {
		return nil
	}
	// The first span takes what lies before the start, the last what lies after.
	n := last/span + 1
	for k := range n {
		from, to := k*span, (k+1)*span
		if k == 0 {
			from = -1 << 63
		}
		out := rawFrame(t, false)
		for _, e := range parts {
			if e.to < from || (e.from >= to && k < n-1) {
				continue
			}
			f, err := e.p.readTable(t)
			if err != nil {
				return err
			}
			if hasRates(t, f) && !hasRates(t, out) {
				out = grow(t, out)
			}
			for i := range f.Rows() {
				o := c.boots[bootKey{f[rawHost].Texts[i], f[rawBootID].Texts[i]}]
				if at := f[rawBoot].Ints[i] - o.originNS; at < from || (at >= to && k < n-1) {
					continue
				}
				for j := range out {
					if j < len(f) {
						out[j].AppendFrom(f[j], i)
					} else {
						out[j].AppendNull()
					}
				}
			}
		}
		if out.Rows() == 0 {
			continue
		}
		if err := yield(out); err != nil {
			return err
		}
	}
	return nil
}

// sorted returns the order of a raw frame's rows: host, device, boot, elapsed time.
func (c *conversion) sorted(f columns.Frame) []int {
	order := make([]int, f.Rows())
	boot := make([]int64, f.Rows())
	for i := range order {
		order[i] = i
		boot[i] = c.boots[bootKey{f[rawHost].Texts[i], f[rawBootID].Texts[i]}].index
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(f[rawHost].Texts[a], f[rawHost].Texts[b]),
			compareDevices(f[rawDevice].Texts[a], f[rawDevice].Texts[b]),
			cmp.Compare(boot[a], boot[b]),
			cmp.Compare(f[rawBoot].Ints[a], f[rawBoot].Ints[b]),
			cmp.Compare(f[rawEpoch].Ints[a], f[rawEpoch].Ints[b]),
			cmp.Compare(f[rawSeq].Ints[a], f[rawSeq].Ints[b]),
		)
	})
	return order
}

// compareDevices orders "cpu 2" before "cpu 10".
func compareDevices(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 && digits(a) && digits(b) {
		return c
	}
	return cmp.Compare(a, b)
}

func digits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}
