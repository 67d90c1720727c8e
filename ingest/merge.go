package ingest

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/schemas"
)

// AddTo adds the rows of the live run id to the run folder at dir and returns its
// manifest. The folder is changed by one exchange of directories: it is as before or
// has all. A producer that the folder has already is an error.
func (s *Store) AddTo(id, dir string) (*schemas.Manifest, error) {
	r := s.runs[id]
	if r == nil {
		return nil, fmt.Errorf("ingest: no live run %s", id)
	}
	if err := s.flushRun(r); err != nil {
		return nil, fmt.Errorf("ingest: run %s: part: %w", id, diskFull(err))
	}
	old, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	for _, p := range old.Producers {
		if r.producers[producerKey{p.Host, p.Epoch}] != nil {
			return nil, fmt.Errorf("ingest: %s: it has producer %d on %s already", dir, p.Epoch, p.Host)
		}
	}
	fresh, tmp := filepath.Join(s.liveDir(id), newPrefix+"folder"), filepath.Join(s.liveDir(id), newPrefix+"merged")
	for _, d := range []string{fresh, tmp} {
		if err := os.RemoveAll(d); err != nil {
			return nil, fmt.Errorf("ingest: run %s: %w", id, err)
		}
	}
	m, err := s.fill(r, fresh, "")
	if err == nil {
		m, err = s.merge(old, dir, m, fresh, tmp)
	}
	if err == nil {
		err = s.syncDir(tmp)
	}
	if err == nil {
		err = verify(tmp, m)
	}
	if err == nil {
		err = unix.Renameat2(unix.AT_FDCWD, tmp, unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE)
	}
	if err == nil {
		err = s.syncDir(filepath.Dir(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("ingest: %s: add %s: %w", dir, id, diskFull(err))
	}
	return m, nil
}

// merge writes the folder tmp of what two folders of one run have.
func (s *Store) merge(old *schemas.Manifest, oldDir string, add *schemas.Manifest, addDir, tmp string) (*schemas.Manifest, error) {
	if err := os.CopyFS(tmp, os.DirFS(oldDir)); err != nil {
		return nil, err
	}
	m := *old
	m.Tables = nil
	for _, t := range schemas.Tables {
		a, b := tableFile(old, t), tableFile(add, t)
		switch {
		case a == nil && b == nil:
		case b == nil:
			m.Tables = append(m.Tables, *a)
		case a == nil:
			if err := s.copyFile(filepath.Join(addDir, t.Name+".parquet"), filepath.Join(tmp, t.Name+".parquet")); err != nil {
				return nil, err
			}
			m.Tables = append(m.Tables, *b)
		case a.Version != t.Version:
			return nil, fmt.Errorf("table %s has version %d, this steady writes %d: import everything again into a run of its own", t.Name, a.Version, t.Version)
		default:
			if err := s.mergeTable(&m, t, oldDir, addDir, tmp); err != nil {
				return nil, fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
	}
	if err := s.mergeOutputs(&m, add, addDir, tmp); err != nil {
		return nil, err
	}
	m.DurationNS = max(m.DurationNS, add.DurationNS)
	m.Producers = slices.Concat(m.Producers, add.Producers)
	m.Params = mergedMaps(add.Params, m.Params)
	if m.Phases = old.Phases; len(m.Phases) == 0 {
		m.Phases = add.Phases
	}
	if m.Start == nil {
		m.Start = add.Start
	}
	m.Quality = map[string]int64{}
	for _, x := range []*schemas.Manifest{old, add} {
		for reason, n := range x.Quality {
			m.Quality[reason] += n
		}
	}
	m.Hosts = slices.Clone(old.Hosts)
	for _, h := range add.Hosts {
		i := slices.IndexFunc(m.Hosts, func(x schemas.Host) bool { return x.Host == h.Host })
		if i < 0 {
			m.Hosts = append(m.Hosts, h)
			continue
		}
		x := &m.Hosts[i]
		x.Facts, x.Absent = mergedMaps(h.Facts, x.Facts), mergedMaps(h.Absent, x.Absent)
		x.Roles = slices.Compact(slices.Sorted(slices.Values(slices.Concat(x.Roles, h.Roles))))
		for _, b := range h.Boots {
			if !slices.ContainsFunc(x.Boots, func(y schemas.Boot) bool { return y.BootID == b.BootID }) {
				x.Boots = append(x.Boots, b)
			}
		}
	}
	if add.Status != schemas.Complete {
		m.Reasons = slices.Concat(m.Reasons, add.Reasons)
		if m.Status == schemas.Complete || add.Status == schemas.Failed {
			m.Status = add.Status
		}
	}
	return &m, s.writeFile(filepath.Join(tmp, "manifest.json"), func(f *os.File) error { return encodeManifest(f, &m) })
}

// mergedMaps returns what either has; of a key in both, over's value.
func mergedMaps[V any](under, over map[string]V) map[string]V {
	out := map[string]V{}
	for _, x := range []map[string]V{under, over} {
		for k, v := range x {
			out[k] = v
		}
	}
	return out
}

func tableFile(m *schemas.Manifest, t *schemas.Table) *schemas.TableFile {
	for i := range m.Tables {
		if m.Tables[i].Table == t.Name {
			return &m.Tables[i]
		}
	}
	return nil
}

// mergeTable writes the rows of both folders, in the order of a run folder.
func (s *Store) mergeTable(m *schemas.Manifest, t *schemas.Table, oldDir, addDir, tmp string) error {
	all := fileFrame(t)
	for _, dir := range []string{oldDir, addDir} {
		f, err := columns.Open(filepath.Join(dir, t.Name+".parquet"))
		if err != nil {
			return err
		}
		frame, err := f.Read()
		f.Close()
		if err != nil {
			return err
		}
		for i := range frame.Rows() {
			for j := range all {
				all[j].AppendFrom(frame[j], i)
			}
		}
	}
	order := make([]int, all.Rows())
	for i := range order {
		order[i] = i
	}
	elapsed, boot, host := all.Column("elapsed_ns"), all.Column("boot"), all.Column("host")
	device := func(i int) string {
		if c := all.Column("device"); c != nil {
			return c.Texts[i]
		}
		return ""
	}
	group := func(i int) int64 { return max(elapsed.Ints[i], 0) / groupSpan.Nanoseconds() }
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(group(a), group(b)), cmp.Compare(host.Texts[a], host.Texts[b]), compareDevices(device(a), device(b)),
			cmp.Compare(boot.Ints[a], boot.Ints[b]), cmp.Compare(elapsed.Ints[a], elapsed.Ints[b]))
	})
	return s.writeTable(tmp, m, t, func(w *columns.Writer) (int64, error) {
		out := fileFrame(t)
		for k, i := range order {
			if k > 0 && group(i) != group(order[k-1]) {
				if err := w.WriteGroup(out); err != nil {
					return 0, err
				}
				out.Reset()
			}
			for j := range out {
				out[j].AppendFrom(all[j], i)
			}
		}
		return int64(len(order)), w.WriteGroup(out)
	})
}

// mergeOutputs adds tool output; a name that is taken gets a number.
func (s *Store) mergeOutputs(m, add *schemas.Manifest, addDir, tmp string) error {
	m.Outputs = slices.Clone(m.Outputs)
	for _, o := range add.Outputs {
		src := filepath.Join(addDir, "tool-output", o.Name)
		name := o.Name
		for n := 2; slices.ContainsFunc(m.Outputs, func(x schemas.OutputFile) bool { return x.Name == name }); n++ {
			ext := filepath.Ext(o.Name)
			name = fmt.Sprintf("%s-%d%s", o.Name[:len(o.Name)-len(ext)], n, ext)
		}
		o.Name = name
		dst := filepath.Join(tmp, "tool-output", name)
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return err
		}
		if err := s.copyFile(src, dst); err != nil {
			return err
		}
		m.Outputs = append(m.Outputs, o)
	}
	return nil
}

func (s *Store) copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return s.writeFile(to, func(f *os.File) error {
		_, err := io.Copy(f, src)
		return err
	})
}
