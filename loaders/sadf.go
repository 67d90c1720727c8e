package loaders

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ReadSadf reads what sadf -j (JSON) or sadf -d (fields between semicolons) of sysstat
// 10.0 to 12.8 prints, with any activities and any of its forms of time; SarColumns says
// what becomes of each field, Foreign.Warnings what could not be told.
//
// A file is read whole or refused, with the byte (of JSON) or line and the cause. With
// o.Salvage the samples before the damage are kept, and a comma that is missing between
// two members (as in several versions) is put back; Foreign.Incomplete says so. Rates
// that can't be true are null, with a row of quality that has them as printed.
//
// It holds the text and the rows, no tree of the JSON: some 24 bytes a value.
func ReadSadf(name string, text []byte, o ForeignOptions) (*Foreign, error) {
	return readSadf(name, text, o, -1)
}

func readSadf(name string, text []byte, o ForeignOptions, meaning int) (*Foreign, error) {
	s := newSysstat(name, "sadf", o)
	s.memory.told = meaning
	s.digits = 2 // sadf has no option for it
	head := bytes.TrimLeft(text[:min(len(text), 4096)], " \t\r\n\ufeff")
	switch {
	case IsSa(text):
		return nil, fmt.Errorf("loaders: %s: a binary file of sadc: import it as one, or make JSON of it by LC_ALL=C sadf -j FILE -- -A", name)
	case len(head) == 0:
		return nil, fmt.Errorf("loaders: %s: empty", name)
	case head[0] == '{':
		return s.readJSON(text)
	case bytes.HasPrefix(head, []byte("# hostname;")):
		return s.readFields(text)
	case head[0] == '<':
		return nil, fmt.Errorf("loaders: %s: XML, as sadf -x prints: make JSON by LC_ALL=C sadf -j FILE -- -A", name)
	}
	return nil, fmt.Errorf("loaders: %s: neither JSON, as sadf -j prints, nor fields with a heading, as sadf -d: make JSON by LC_ALL=C sadf -j FILE -- -A", name)
}

// saMagic begins a file of sadc, in its host's order of bytes (SYSSTAT_MAGIC in sa.h).
const saMagic = 0xd596

// IsSa reports whether text begins as a binary file of sadc, which ReadSa reads.
func IsSa(text []byte) bool {
	if len(text) < 2 {
		return false
	}
	head := uint16(text[0])<<8 | uint16(text[1])
	return head == saMagic || head == saMagic<<8&0xff00|saMagic>>8
}

// ReadSa reads a binary file of sadc through the host's sadf, and returns the JSON that
// this printed beside. What sadf says on standard error refuses the file, whatever its
// exit status: of a file that is cut off it prints what it could read and succeeds. With
// o.Salvage that is kept.
func ReadSa(path string, o ForeignOptions) (*Foreign, []byte, error) {
	fail := func(format string, arg ...any) (*Foreign, []byte, error) {
		return nil, nil, fmt.Errorf("loaders: %s: "+format, append([]any{path}, arg...)...)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("loaders: %w", err)
	}
	var head [2]byte
	_, err = file.Read(head[:])
	file.Close()
	if err != nil || !IsSa(head[:]) {
		return fail("not a binary file of sadc")
	}
	if _, err := exec.LookPath("sadf"); err != nil {
		return fail("sadf is not installed: install sysstat, or make JSON where there is one: LC_ALL=C sadf -j %s -- -A", path)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, nil, fmt.Errorf("loaders: %w", err)
	}
	said, _, _ := runSadf("-V")
	printed, meaning, ok := versionOfSysstat(said)
	if !ok {
		meaning = -1
	}
	about, _, _ := runSadf("-H", path)
	recorded, _, _ := versionOfSysstat(about)
	text, complaint, err := runSadf("-j", path, "--", "-A")
	var broken []string
	switch {
	case bytes.Contains(complaint, []byte("End of system activity file unexpected")):
		if !o.Salvage {
			return fail("cut off: sadf says %q; salvage the samples before it", "End of system activity file unexpected")
		}
		broken = []string{"the file is cut off: sadf read the samples before that"}
	case bytes.Contains(complaint, []byte("cannot read the format of this file")):
		return fail("recorded by %s, sadf here is of %s: %q: convert it by sadf -c FILE > NEW, or make JSON by a sysstat of the file's version", orUnknown(recorded), orUnknown(printed), firstLine(complaint))
	case err != nil, len(bytes.TrimSpace(complaint)) > 0:
		if err == nil {
			err = errors.New("exit status 0")
		}
		return fail("sadf: %w: %q", err, firstLine(complaint))
	}
	f, err := readSadf(path, text, o, meaning)
	if err != nil {
		return nil, nil, err
	}
	for fact, version := range map[string]string{"sysstat.version": recorded, "sadf.version": printed} {
		if version != "" {
			f.Facts[fact] = version
		}
	}
	f.Incomplete = append(f.Incomplete, broken...)
	return f, text, nil
}

func orUnknown(version string) string {
	if version == "" {
		return "an unknown version"
	}
	return "sysstat " + version
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	return string(line)
}

func runSadf(arg ...string) (stdout, stderr []byte, err error) {
	var out, complaint bytes.Buffer
	c := exec.Command("sadf", arg...)
	c.Env = append(os.Environ(), "LC_ALL=C", "S_COLORS=never")
	c.Stdout, c.Stderr = &out, &complaint
	err = c.Run()
	return out.Bytes(), complaint.Bytes(), err
}

// sadfNode is a place in a sample of sadf's JSON.
type sadfNode struct {
	children map[string]*sadfNode
	activity *sarActivity
}

var sadfTree = sync.OnceValue(func() *sadfNode {
	root := &sadfNode{children: map[string]*sadfNode{}}
	for _, a := range sarActivities() {
		for _, path := range a.paths {
			n := root
			for step := range strings.SplitSeq(path, "/") {
				next := n.children[step]
				if next == nil {
					next = &sadfNode{children: map[string]*sadfNode{}}
					n.children[step] = next
				}
				n = next
			}
			n.activity = a
		}
	}
	return root
})

// sadfJSON is the JSON of one host while it is read.
type sadfJSON struct {
	*sysstat
	*jsonText
	hosts  int
	row    sarRow
	sample *sarSample
	when   sadfTime
}

// sadfTime is the time of a sample, restart or comment.
type sadfTime struct {
	date, clock []byte
	utc         bool
	interval    []byte
	cpus        []byte
	words       []byte
}

func (s *sysstat) readJSON(text []byte) (*Foreign, error) {
	d := &sadfJSON{sysstat: s, jsonText: &jsonText{text: bytes.TrimPrefix(text, []byte("\ufeff")), salvage: s.o.Salvage}}
	err := d.document()
	if err != nil {
		var damage *jsonError
		if !s.o.Salvage || !errors.As(err, &damage) || damage.locale || len(s.samples) == 0 {
			if errors.As(err, &damage) && damage.cut {
				err = fmt.Errorf("%w: make it anew, or salvage the samples before it", err)
			}
			return nil, fmt.Errorf("loaders: %s: %w", s.name, err)
		}
		s.f.Incomplete = append(s.f.Incomplete, "damaged, samples before that are kept: "+err.Error())
		if len(s.restarts) == 0 {
			s.warn("restarts, which the file has at its end, are not known")
		}
	}
	for _, at := range d.repaired {
		s.f.Incomplete = append(s.f.Incomplete, fmt.Sprintf("byte %d: a comma was missing, and is put back", at))
	}
	slices.SortStableFunc(s.restarts, func(a, b sarRestart) int { return int(min(max(a.wallNS-b.wallNS, -1), 1)) })
	segment := 0
	for _, x := range s.samples {
		for segment < len(s.restarts) && s.restarts[segment].wallNS < x.wallNS {
			segment++
		}
		x.segment = segment
	}
	return s.close()
}

func (d *sadfJSON) document() error {
	found := false
	err := d.object(func(key []byte) error {
		if string(key) != "sysstat" {
			return d.skip()
		}
		found = true
		return d.object(func(key []byte) error {
			switch string(key) {
			case "hosts":
				return d.array(d.host)
			case "sysdata-version", "sysstat-version":
				v, err := d.scalar()
				d.f.Facts["sysstat.data_version"] = string(v)
				return err
			}
			return d.skip()
		})
	})
	if err != nil {
		return err
	}
	if d.space(); d.at < len(d.text) {
		return d.fail("text behind the end")
	}
	if !found || d.hosts == 0 {
		return &jsonError{at: d.at, cause: `no "sysstat" with "hosts": not of sadf -j`}
	}
	return nil
}

func (d *sadfJSON) host() error {
	if d.hosts++; d.hosts > 1 {
		return d.fail("a second host: make a file of each")
	}
	return d.object(func(key []byte) error {
		fact := map[string]string{"release": "kernel", "machine": "architecture", "number-of-cpus": "cpus", "timezone": "sysstat.timezone", "file-date": "", "file-utc-time": "", "sysname": ""}
		switch string(key) {
		case "nodename":
			v, err := d.scalar()
			d.f.Host = string(v)
			return err
		case "statistics":
			return d.array(d.statistics)
		case "restarts":
			return d.array(func() error {
				return d.event("boot", func(at int64, t *sadfTime) error {
					cpus, err := strconv.Atoi(string(t.cpus))
					if err != nil {
						cpus = 0
					}
					d.restarts = append(d.restarts, sarRestart{at, cpus})
					return nil
				})
			})
		case "comments":
			return d.array(func() error {
				return d.event("comment", func(at int64, t *sadfTime) error {
					d.comment(at, string(t.words))
					return nil
				})
			})
		}
		name, ok := fact[string(key)]
		if !ok {
			d.warn("%q of the host is not known: left out", key)
			return d.skip()
		}
		v, err := d.scalar()
		if err == nil && name != "" {
			d.f.Facts[name] = string(v)
		}
		return err
	})
}

// comment keeps what somebody wrote into the file.
func (s *sysstat) comment(wallNS int64, words string) {
	for n := 1; ; n++ {
		key := "sysstat.comment." + strconv.Itoa(n)
		said := stamp(wallNS) + " " + words
		if old, ok := s.f.Facts[key]; !ok || old == said {
			s.f.Facts[key] = said
			return
		}
	}
}

// event reads an object that has only the named member, with a time.
func (d *sadfJSON) event(name string, then func(int64, *sadfTime) error) error {
	return d.object(func(key []byte) error {
		if string(key) != name {
			return d.skip()
		}
		var t sadfTime
		start := d.at
		if err := d.time(&t); err != nil {
			return err
		}
		at, err := d.wall(&t)
		if err != nil {
			return &jsonError{at: start, cause: err.Error()}
		}
		return then(at, &t)
	})
}

func (d *sadfJSON) time(t *sadfTime) error {
	*t = sadfTime{}
	return d.object(func(key []byte) error {
		into := map[string]*[]byte{"date": &t.date, "time": &t.clock, "interval": &t.interval, "cpu_count": &t.cpus, "com": &t.words}[string(key)]
		if into == nil && string(key) != "utc" {
			return d.skip()
		}
		v, err := d.scalar()
		if into == nil {
			t.utc = string(v) == "1"
		} else {
			*into = v
		}
		return err
	})
}

// wall returns the time in ns since 1970.
func (d *sadfJSON) wall(t *sadfTime) (int64, error) {
	zone := time.UTC
	if !t.utc {
		if zone = d.o.Zone; zone == nil {
			if zone = zoneNamed(d.f.Facts["sysstat.timezone"]); zone == nil {
				return 0, errNoZone
			}
		}
	}
	at, err := inZone(string(t.date), string(t.clock), zone)
	if err != nil {
		return 0, err
	}
	return at.UnixNano(), nil
}

var errNoZone = errors.New("the zone of the times is not told: give it, or make the file anew by sadf -j, which has UTC")

// zoneNamed returns a zone that its name tells for certain, nil otherwise: CET may be
// many.
func zoneNamed(name string) *time.Location {
	if name == "UTC" || name == "GMT" {
		return time.UTC
	}
	if !strings.Contains(name, "/") {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}

// inZone returns the time of a date (2006-01-02) and a clock (15:04:05, until sysstat
// 10.0.4 15-04-05) in a zone, if there is exactly one.
func inZone(date, clock string, zone *time.Location) (time.Time, error) {
	said, err := time.Parse("2006-01-02 15:04:05", date+" "+strings.ReplaceAll(clock, "-", ":"))
	if err != nil || said.Year() < 1990 || said.Year() > 2200 {
		return said, fmt.Errorf("time %q: want 2006-01-02 15:04:05", date+" "+clock)
	}
	return localTime(said, zone)
}

// localTime returns when clocks of zone showed what said shows in UTC.
func localTime(said time.Time, zone *time.Location) (time.Time, error) {
	var found []time.Time
	for _, day := range []time.Duration{-24 * time.Hour, 24 * time.Hour} { // before and after a change of the offset
		_, offset := said.Add(day).In(zone).Zone()
		t := said.Add(-time.Duration(offset) * time.Second)
		if _, o := t.In(zone).Zone(); o == offset && (len(found) == 0 || !found[0].Equal(t)) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return said, fmt.Errorf("time %s: clocks of %s never showed it", said.Format(time.DateTime), zone)
	case 1:
		return found[0], nil
	}
	return said, fmt.Errorf("time %s: clocks of %s showed it twice, at the end of summer time: give the zone as an offset (+01:00), or make the file anew by sadf -j, which has UTC", said.Format(time.DateTime), zone)
}

// statistics reads a sample.
func (d *sadfJSON) statistics() error {
	start := d.at
	d.sample = &sarSample{}
	d.when = sadfTime{}
	if err := d.member(sadfTree(), ""); err != nil {
		return err
	}
	if d.when.date == nil {
		if len(d.sample.blocks)+len(d.sample.notes) == 0 {
			return nil // sadf -e ends with one that is empty
		}
		return &jsonError{at: start, cause: "a sample without a timestamp"}
	}
	at, err := d.wall(&d.when)
	if err != nil {
		return &jsonError{at: start, cause: err.Error()}
	}
	d.sample.wallNS = at
	interval, err := strconv.ParseUint(string(d.when.interval), 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return &jsonError{at: start, cause: fmt.Sprintf("interval %q: not whole seconds", d.when.interval)}
	case interval > math.MaxInt64/1_000_000_000:
		d.sample.intervalNS = -1
	default:
		d.sample.intervalNS = int64(interval) * 1e9
	}
	d.add(d.sample)
	return nil
}

// member reads the objects below a node.
func (d *sadfJSON) member(n *sadfNode, path string) error {
	return d.object(func(key []byte) error {
		next := n.children[string(key)]
		switch {
		case next == nil && path == "" && string(key) == "timestamp":
			return d.time(&d.when)
		case next == nil:
			d.warn("%s%s of sadf is not known: left out", path, key)
			return d.skip()
		case next.activity != nil:
			return d.activity(next.activity)
		}
		return d.member(next, string(key)+".")
	})
}

// activity reads an object, or an array of objects.
func (d *sadfJSON) activity(a *sarActivity) error {
	one := func() error {
		start := d.at
		d.row.clear()
		if err := d.fields(a); err != nil {
			return err
		}
		if err := d.take(d.sample, a, &d.row); err != nil {
			return &jsonError{at: start, cause: err.Error(), locale: errors.Is(err, errDecimalComma)}
		}
		return nil
	}
	if d.peek() == '[' {
		return d.array(one)
	}
	return one()
}

// fields reads a row.
func (d *sadfJSON) fields(a *sarActivity) error {
	return d.object(func(key []byte) error {
		if d.peek() == '{' {
			return d.fields(a) // of io
		}
		v, err := d.scalar()
		if err != nil {
			return err
		}
		i, ok := a.byJSON[string(key)]
		switch {
		case ok:
			d.row.raw[i] = v
		case string(key) == a.key, a.form == sarFormFilesystem && string(key) == "mountpoint":
			d.row.device = v
		case a.form == sarFormInterrupts && bytes.HasPrefix(key, []byte("CPU")):
			d.row.cpus = append(d.row.cpus, sarCell{key[3:], v})
		default:
			d.warn("%s.%s of sadf is not known: left out", strings.ReplaceAll(a.paths[0], "/", "."), key)
		}
		return nil
	})
}

// jsonText is JSON (RFC 8259) that is read member by member.
type jsonText struct {
	text     []byte
	at       int
	salvage  bool
	repaired []int // where a comma was missing
	deep     int
}

// jsonError is damage at a byte.
type jsonError struct {
	at     int
	cause  string
	cut    bool // the text ends too early
	locale bool
}

func (e *jsonError) Error() string { return fmt.Sprintf("byte %d: %s", e.at, e.cause) }

func (j *jsonText) fail(format string, arg ...any) error {
	if j.at >= len(j.text) {
		return &jsonError{at: len(j.text), cause: "cut off", cut: true}
	}
	return &jsonError{at: j.at, cause: fmt.Sprintf(format, arg...)}
}

func (j *jsonText) space() {
	for j.at < len(j.text) && (j.text[j.at] == ' ' || j.text[j.at] == '\n' || j.text[j.at] == '\t' || j.text[j.at] == '\r') {
		j.at++
	}
}

// peek returns the next byte that is no space, 0 at the end.
func (j *jsonText) peek() byte {
	if j.space(); j.at < len(j.text) {
		return j.text[j.at]
	}
	return 0
}

const deepest = 64

// list reads what stands between open and end, one item a call.
func (j *jsonText) list(open, end byte, item func() error) error {
	if j.peek() != open {
		return j.fail("want %q", open)
	}
	if j.deep++; j.deep > deepest {
		return j.fail("nested too deeply")
	}
	defer func() { j.deep-- }()
	j.at++
	if j.peek() == end {
		j.at++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch j.peek() {
		case end:
			j.at++
			return nil
		case ',':
			if next := j.at + 1; open == '{' && next < len(j.text) && j.text[next] >= '0' && j.text[next] <= '9' {
				return &jsonError{at: j.at, cause: errDecimalComma.Error(), locale: true}
			}
			j.at++
		default:
			if next := j.peek(); j.salvage && (open == '{' && next == '"' || open == '[' && next == '{') {
				j.repaired = append(j.repaired, j.at)
				continue
			}
			return j.fail("want a comma or %q", end)
		}
	}
}

// object reads an object: member reads the value of each key, which stays as it is only
// until then if it had escapes.
func (j *jsonText) object(member func(key []byte) error) error {
	return j.list('{', '}', func() error {
		key, err := j.str()
		if err != nil {
			return err
		}
		if j.peek() != ':' {
			return j.fail("want a colon")
		}
		j.at++
		return member(key)
	})
}

func (j *jsonText) array(item func() error) error { return j.list('[', ']', item) }

// str reads a string.
func (j *jsonText) str() ([]byte, error) {
	if j.peek() != '"' {
		return nil, j.fail("want a string")
	}
	j.at++
	start := j.at
	for ; j.at < len(j.text); j.at++ {
		switch c := j.text[j.at]; {
		case c == '"':
			j.at++
			return j.text[start : j.at-1], nil
		case c == '\\':
			return j.escaped(start)
		case c < ' ':
			return nil, j.fail("a control character in a string")
		}
	}
	return nil, j.fail("")
}

// escaped reads the rest of a string that has escapes. sadf itself writes none, so one
// that JSON has not stays as it is.
func (j *jsonText) escaped(start int) ([]byte, error) {
	out := bytes.Clone(j.text[start:j.at])
	for j.at < len(j.text) {
		c := j.text[j.at]
		j.at++
		switch {
		case c == '"':
			return out, nil
		case c < ' ':
			j.at--
			return nil, j.fail("a control character in a string")
		case c != '\\' || j.at == len(j.text):
			out = append(out, c)
			continue
		}
		const plain, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		e := j.text[j.at]
		if k := strings.IndexByte(plain, e); k >= 0 {
			out = append(out, means[k])
			j.at++
			continue
		}
		if e == 'u' && j.at+5 <= len(j.text) {
			if r, err := strconv.ParseUint(string(j.text[j.at+1:j.at+5]), 16, 16); err == nil {
				out = append(out, string(rune(r))...)
				j.at += 5
				continue
			}
		}
		out = append(out, c)
	}
	return nil, j.fail("")
}

// scalar reads a string, a number or a word and returns it as it stands there. nan and
// inf, which JSON has not, are words too: C prints them.
func (j *jsonText) scalar() ([]byte, error) {
	if j.peek() == '"' {
		return j.str()
	}
	start := j.at
	for j.at < len(j.text) {
		if c := j.text[j.at]; !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '+' || c == '-' || c == '.') {
			break
		}
		j.at++
	}
	v := j.text[start:j.at]
	if !jsonNumber(v) && !slices.Contains([]string{"true", "false", "null", "nan", "-nan", "inf", "-inf"}, string(v)) {
		if j.at < len(j.text) {
			j.at = start
		}
		return nil, j.fail("want a value")
	}
	return v, nil
}

// jsonNumber reports whether v is a number as JSON has them.
func jsonNumber(v []byte) bool {
	v = bytes.TrimPrefix(v, []byte("-"))
	digits := func() bool {
		n := 0
		for n < len(v) && v[n] >= '0' && v[n] <= '9' {
			n++
		}
		v = v[n:]
		return n > 0
	}
	if len(v) > 1 && v[0] == '0' && v[1] >= '0' && v[1] <= '9' || !digits() {
		return false
	}
	if len(v) > 0 && v[0] == '.' {
		if v = v[1:]; !digits() {
			return false
		}
	}
	if len(v) > 0 && v[0]|0x20 == 'e' {
		if v = v[1:]; len(v) > 0 && (v[0] == '+' || v[0] == '-') {
			v = v[1:]
		}
		if !digits() {
			return false
		}
	}
	return len(v) == 0
}

// skip reads a value of any kind.
func (j *jsonText) skip() error {
	switch j.peek() {
	case '{':
		return j.object(func([]byte) error { return j.skip() })
	case '[':
		return j.array(j.skip)
	}
	_, err := j.scalar()
	return err
}
