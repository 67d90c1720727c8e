package schemas

import (
	"encoding/json"
	"fmt"
	"time"
)

// ManifestSchema is the version of manifest.json.
const ManifestSchema = "steady.manifest/1"

// Status of a run's data.
const (
	Complete   = "complete"
	Incomplete = "incomplete"
	Failed     = "failed"
)

// Manifest is manifest.json of a run folder: what the run was and how whole its data
// are.
type Manifest struct {
	Schema     string         `json:"schema"`
	ID         string         `json:"run_id"`
	Experiment string         `json:"experiment"`
	System     string         `json:"system"`
	Scenario   string         `json:"scenario"`
	Run        string         `json:"run"`
	Params     map[string]any `json:"params"`
	Slot       int            `json:"slot"`
	Status     string         `json:"status"`
	// Reasons say why the status is not complete.
	Reasons  []string   `json:"reasons"`
	Excluded *Exclusion `json:"excluded"`
	// Start is null where imported data don't tell it.
	Start *time.Time `json:"start"`
	// DurationNS is the elapsed time of the last row.
	DurationNS int64             `json:"duration_ns"`
	Phases     []Phase           `json:"phases"`
	Hosts      []Host            `json:"hosts"`
	Producers  []ProducerAccount `json:"producers"`
	Tables     []TableFile       `json:"tables"`
	// Outputs are what tools printed, in tool-output.
	Outputs []OutputFile `json:"outputs,omitempty"`
	// Quality counts table quality's rows by reason.
	Quality map[string]int64 `json:"quality"`
	// Stream says from which stream the run was read.
	Stream string `json:"stream"`
}

// Exclusion leaves a run out of the statistics, visibly.
type Exclusion struct {
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
}

// Phase is a part of a run, in elapsed time.
type Phase struct {
	Name   string `json:"name"`
	FromNS int64  `json:"from_ns"`
	ToNS   int64  `json:"to_ns"`
}

// Host is a machine in the run.
type Host struct {
	Host  string            `json:"host"`
	Roles []string          `json:"roles"`
	Facts map[string]string `json:"facts"`
	// Absent are the sources this host doesn't have, with the cause.
	Absent map[string]string `json:"absent"`
	Boots  []Boot            `json:"boots"`
}

// Boot ties a host's boot clock to the run's elapsed time: elapsed = boot clock -
// OriginNS.
type Boot struct {
	BootID   string `json:"boot_id"`
	OriginNS int64  `json:"origin_ns"`
	// ByWall says that the origin was found by wall time, since no reading of this
	// boot's clock at the start of the run exists (another host, a reboot).
	ByWall bool `json:"by_wall"`
}

// ProducerAccount is the reconciliation of what a producer sampled with what came.
type ProducerAccount struct {
	Host  string `json:"host"`
	Epoch int64  `json:"epoch"`
	Kind  string `json:"kind"`
	// Ended says that the producer said its last word; without it Expected is null.
	Ended bool `json:"ended"`
	// Cut says that it was killed, and its successor said the last word: what it took
	// and could not log in its last moment is not in Expected, nor is it known how many
	// ticks it missed before (its rows of table collector count them).
	Cut      bool   `json:"cut,omitempty"`
	Expected *int64 `json:"expected"`
	Received int64  `json:"received"`
	// Missing are the sequence numbers that never came; those the producer itself
	// had to refuse are in Refused too.
	Missing []Range `json:"missing"`
	Refused []Range `json:"refused"`
	// Duplicates counts ticks that came again and were left out.
	Duplicates int64 `json:"duplicates"`
	// Missed and Late count ticks never taken, and taken late.
	Missed int64 `json:"missed"`
	Late   int64 `json:"late"`
}

// TableFile is a file of the run folder.
type TableFile struct {
	Table   string `json:"table"`
	Version int    `json:"version"`
	Rows    int64  `json:"rows"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// OutputFile is a file in the run folder's tool-output.
type OutputFile struct {
	Name   string `json:"name"`
	Host   string `json:"host"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// DecodeManifest returns the manifest of a manifest.json; one of another version is an
// error that says so.
func DecodeManifest(b []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("manifest.json: %w: restore it from a copy, or move the folder out of runs", err)
	}
	if m.Schema != ManifestSchema {
		return nil, fmt.Errorf("manifest of schema %q, this steady reads %s", m.Schema, ManifestSchema)
	}
	return m, nil
}

// Usable reports whether the run enters statistics, and if not, why.
func (m *Manifest) Usable() (ok bool, why string) {
	switch {
	case m.Excluded != nil:
		return false, "excluded: " + m.Excluded.Reason
	case m.Status != Complete:
		if len(m.Reasons) > 0 {
			return false, m.Status + ": " + m.Reasons[0]
		}
		return false, m.Status
	}
	return true, ""
}

// Phase returns the named phase.
func (m *Manifest) Phase(name string) (Phase, bool) {
	for _, p := range m.Phases {
		if p.Name == name {
			return p, true
		}
	}
	return Phase{}, false
}
