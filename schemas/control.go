package schemas

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Stamp is a moment on one host: on its wall clock and on its boot time clock.
type Stamp struct {
	Host   string `json:"host"`
	WallNS int64  `json:"wall_ns"`
	BootNS int64  `json:"boot_ns"`
	BootID string `json:"boot_id"`
}

// Control is a message about a run, on its _control subject.
//
//	open   what the run is and how many hosts will take part; the moment is its start
//	hello  a producer begins: ingest waits for its end
//	phase  a phase begins (and the one before ends)
//	end    a producer is done: the last sequence number it sampled
//	close  the run is over: what has not ended by now is not waited for
//	abort  the run is over and failed, with the cause
type Control struct {
	Kind string `json:"kind"`
	At   Stamp  `json:"at"`

	Open  *Open  `json:"open,omitempty"`
	Hello *Hello `json:"hello,omitempty"`
	Phase string `json:"phase,omitempty"`
	End   *End   `json:"end,omitempty"`
	Cause string `json:"cause,omitempty"`
}

// Open is what a run is.
type Open struct {
	Experiment string         `json:"experiment"`
	System     string         `json:"system"`
	Scenario   string         `json:"scenario"`
	Run        int            `json:"run"`
	Params     map[string]any `json:"params,omitempty"`
	// Slot is the run's place in the executed order, from 0; -1 if unknown.
	Slot int `json:"slot"`
	// Hosts is how many hosts take part: the run is not over before each said hello.
	Hosts int `json:"hosts"`
	// Controlled says that a controller will close the run.
	Controlled bool `json:"controlled,omitempty"`
}

// Hello is a producer's beginning.
type Hello struct {
	Epoch int64    `json:"epoch"`
	Kind  string   `json:"kind"` // collector, workload, import
	Roles []string `json:"roles"`
	// Interval is the nominal time between ticks, in nanoseconds.
	IntervalNS int64             `json:"interval_ns"`
	Facts      map[string]string `json:"facts,omitempty"`
	// Absent are the sources this host doesn't have, with the cause.
	Absent map[string]string `json:"absent,omitempty"`
}

// End is a producer's last word.
type End struct {
	Epoch   int64 `json:"epoch"`
	LastSeq int64 `json:"last_seq"`
	// Refused are the sequence numbers sampled and lost before they were sent.
	Refused []Range `json:"refused,omitempty"`
	// Missed are ticks that were never taken.
	Missed int64 `json:"missed,omitempty"`
	// Cut says that the producer was killed, and another one says its end: LastSeq is
	// the last tick that its log knows of.
	Cut bool `json:"cut,omitempty"`
}

// Range is an inclusive range of sequence numbers.
type Range struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

var nameRE = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,63}$`)

// CheckName returns an error if name can't be an experiment's, system's or
// scenario's name: they become directories, keys of Hive partitions and report text.
func CheckName(what, name string) error {
	if !nameRE.MatchString(name) || name == "null" {
		return fmt.Errorf("%s: %q: a name has 1 to 64 of A-Z a-z 0-9 . _ -, begins with a letter and is not null", what, name)
	}
	return nil
}

// DecodeControl returns the control message of a payload, checked.
func DecodeControl(payload []byte) (*Control, error) {
	var c Control
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, fmt.Errorf("%w: control: %v", ErrCorrupt, err)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%w: control %s: %v", ErrCorrupt, c.Kind, err)
	}
	return &c, nil
}

func (c *Control) check() error {
	if c.At.Host == "" {
		return errors.New("no host")
	}
	switch {
	case c.Kind == "open" && c.Open != nil:
		o := c.Open
		if o.Run < 1 || o.Run > 9999 || o.Hosts < 1 {
			return fmt.Errorf("run number %d, %d hosts", o.Run, o.Hosts)
		}
		return errors.Join(CheckName("experiment", o.Experiment), CheckName("system", o.System), CheckName("scenario", o.Scenario))
	case c.Kind == "hello" && c.Hello != nil, c.Kind == "end" && c.End != nil,
		c.Kind == "phase" && c.Phase != "", c.Kind == "close", c.Kind == "abort":
		return nil
	}
	return errors.New("unknown or incomplete")
}

// Subject returns the subject of a producer's data.
func (p Producer) Subject() string { return SubjectPrefix + p.Run + "." + HostToken(p.Host) }

// MessageID returns the id by which the broker knows a message sent twice.
func (p Producer) MessageID(seq int64) string {
	return fmt.Sprintf("%s/%s/%d/%d", p.Run, p.Host, p.Epoch, seq)
}

// SubjectPrefix begins every subject; the run's id follows.
const SubjectPrefix = "steady.v1."

// ControlSubject returns the subject of a run's control messages.
func ControlSubject(run string) string { return SubjectPrefix + run + "._control" }

// RunSubjects returns the filter for all messages of a run.
func RunSubjects(run string) string { return SubjectPrefix + run + ".>" }

// HostToken returns a host's name as a subject token: base32 without padding, since
// hosts may be called anything.
func HostToken(host string) string {
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(host)))
}

// NewEpoch draws a producer's epoch.
func NewEpoch() int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:]) >> 1)
}
