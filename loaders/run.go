// Package loaders opens run folders: files to columns, columns to metrics. Rates and
// percentages are formed here, from the schema's definitions, and nowhere else.
package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/steadybench/steady/columns"
	"github.com/steadybench/steady/schemas"
)

// ErrNoData is returned where there is no data directory, or nothing in it.
var ErrNoData = errors.New("no data")

// A Run is an open run folder. It is not safe for concurrent use.
type Run struct {
	Dir      string
	Manifest *schemas.Manifest
	tables   map[string]*Table
}

// Open opens a run folder.
func Open(dir string) (*Run, error) {
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("loaders: %s: %w: not a run folder: it has no manifest.json", dir, ErrNoData)
	}
	if err != nil {
		return nil, fmt.Errorf("loaders: %w", err)
	}
	m, err := schemas.DecodeManifest(b)
	if err != nil {
		return nil, fmt.Errorf("loaders: %s: %w", dir, err)
	}
	return &Run{Dir: dir, Manifest: m, tables: map[string]*Table{}}, nil
}

// Runs opens all runs of an experiment, or of all experiments if it is empty, in the
// order of experiment, system, scenario and number. What lives in DATA/live is none.
func Runs(data, experiment string) ([]*Run, error) {
	if st, err := os.Stat(data); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("loaders: %s: %w: no such directory: name it with --data", data, ErrNoData)
	}
	pattern := "*"
	if experiment != "" {
		pattern = experiment
	}
	dirs, err := filepath.Glob(filepath.Join(data, "runs", "experiment="+pattern, "system=*", "scenario=*", "run=*"))
	if err != nil {
		return nil, fmt.Errorf("loaders: experiment %q: %w", experiment, err)
	}
	slices.Sort(dirs)
	var out []*Run
	for _, d := range dirs {
		r, err := Open(d)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		have, _ := filepath.Glob(filepath.Join(data, "runs", "experiment=*"))
		for i := range have {
			have[i] = strings.TrimPrefix(filepath.Base(have[i]), "experiment=")
		}
		if experiment == "" || len(have) == 0 {
			return nil, fmt.Errorf("loaders: %s: %w: no run is in it yet", data, ErrNoData)
		}
		return nil, fmt.Errorf("loaders: %s: %w of an experiment %q: there are %s", data, ErrNoData, experiment, strings.Join(have, ", "))
	}
	return out, nil
}

// Name names the run within its experiment.
func (r *Run) Name() string {
	return fmt.Sprintf("system=%s/scenario=%s/run=%s", r.Manifest.System, r.Manifest.Scenario, r.Manifest.Run)
}

// Has reports whether the run has rows of the table.
func (r *Run) Has(table string) bool { return r.file(table) != nil }

func (r *Run) file(table string) *schemas.TableFile {
	for i := range r.Manifest.Tables {
		if r.Manifest.Tables[i].Table == table {
			return &r.Manifest.Tables[i]
		}
	}
	return nil
}

// Table opens the run's rows of a table, until Release. The file is checked against the manifest's
// checksum first: a flipped byte in a page's header would read otherwise in silence.
// A table that the run has no rows of is ErrNoData.
func (r *Run) Table(t *schemas.Table) (*Table, error) {
	if x := r.tables[t.Name]; x != nil {
		return x, nil
	}
	entry := r.file(t.Name)
	if entry == nil {
		return nil, fmt.Errorf("loaders: %s: %w: no rows of table %s", r.Dir, ErrNoData, t.Name)
	}
	if entry.Version > t.Version {
		return nil, fmt.Errorf("loaders: %s: table %s has version %d, this steady reads up to %d: take a newer one", r.Dir, t.Name, entry.Version, t.Version)
	}
	path := filepath.Join(r.Dir, t.Name+".parquet")
	if err := check(path, entry); err != nil {
		return nil, err
	}
	f, err := columns.Open(path)
	if err != nil {
		return nil, err
	}
	x, err := newTable(t, entry.Version, f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("loaders: %s: %w", path, err)
	}
	r.tables[t.Name] = x
	return x, nil
}

// Release closes the tables that Table opened, and gives their memory back.
func (r *Run) Release() {
	for _, x := range r.tables {
		x.file.Close()
	}
	clear(r.tables)
}

func check(path string, entry *schemas.TableFile) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("loaders: %w: copy it from its source, or leave the run out with steady exclude", err)
	}
	if err != nil {
		return fmt.Errorf("loaders: %w", err)
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err != nil {
		return fmt.Errorf("loaders: %w", err)
	}
	if n != entry.Bytes {
		return fmt.Errorf("loaders: %s: %w: %d bytes, %d were written: copy it again from its source, or leave the run out with steady exclude", path, columns.ErrUnreadable, n, entry.Bytes)
	}
	if hex.EncodeToString(sum.Sum(nil)) != entry.SHA256 {
		return fmt.Errorf("loaders: %s: %w: its bytes are not those that were written: copy it again from its source, or leave the run out with steady exclude", path, columns.ErrUnreadable)
	}
	return nil
}
