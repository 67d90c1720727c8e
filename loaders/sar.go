package loaders

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ReadSar reads the text of sar of sysstat 10.0 to 12.8: any of its blocks, in the C and
// ISO forms of time and with a 12-hour clock, with -C, -t, -s, -e, -i, -p, -z, -x, --human
// and --dec. Columns go by their heading. Rows of averages and extremes are not counted.
//
// The banner tells only the day and no zone: o.Zone must be given, and o.Date if the day
// can be read in several ways. Text of another language than C's is refused: it is made
// anew by LC_ALL=C, best as JSON by sadf -j. A file is read whole or refused, with line
// and cause; with o.Salvage the lines before the damage are kept.
//
// It holds the text and the rows, some 24 bytes a value.
func ReadSar(name string, text []byte, o ForeignOptions) (*Foreign, error) {
	d := &sarText{sarTimes: sarTimes{sysstat: newSysstat(name, "sar", o), at: map[sarAt]*sarSample{}, untold: true}, empty: map[int64]bool{}, walls: map[int64]int64{}, blocks: map[string]*sarTextBlock{}}
	d.memory.told = -1
	if o.Zone == nil {
		return nil, fmt.Errorf("loaders: %s: sar's text tells no zone: give it (Europe/Berlin, or +01:00), or import the JSON of sadf -j, which has UTC", name)
	}
	if IsSa(text) {
		return nil, fmt.Errorf("loaders: %s: a binary file of sadc, no text of sar: import it as one", name)
	}
	whole := text
	if n := bytes.LastIndexByte(text, '\n') + 1; n < len(text) {
		if !o.Salvage {
			return nil, fmt.Errorf("loaders: %s: line %d: cut off: it has no end: make it anew, or salvage what is before it", name, bytes.Count(text, []byte("\n"))+1)
		}
		whole = text[:n]
		d.f.Incomplete = append(d.f.Incomplete, "cut off in the last line, which is left out")
	}
	number := 0
	for line := range bytes.Lines(whole) {
		number++
		err := d.line(bytes.TrimRight(line, "\r\n"))
		if err == nil {
			continue
		}
		if !o.Salvage || errors.Is(err, errDecimalComma) || errors.Is(err, errTranslated) || len(d.at) == 0 {
			return nil, fmt.Errorf("loaders: %s: line %d: %w", name, number, err)
		}
		d.f.Incomplete = append(d.f.Incomplete, fmt.Sprintf("damaged, lines before that are kept: line %d: %v", number, err))
		break
	}
	if !d.averaged && len(d.at) > 0 {
		d.warn("the text does not end in averages, as sar's does: it may have been cut off between two lines")
	}
	return d.finish()
}

var errTranslated = errors.New("not of sar in language C: make it anew by LC_ALL=C sadf -j FILE -- -A, or LC_ALL=C sar")

// sarText is sar's text while it is read.
type sarText struct {
	sarTimes
	begun    bool
	day      time.Time // midnight of the banner's day, as if in UTC
	begin    int64     // wall time in ns at which the segment begins at the earliest, as if in UTC
	last     int64     // the last of all its times, as if in UTC
	twelve   bool      // a 12-hour clock
	clocked  bool
	averaged bool           // the last line was an average
	empty    map[int64]bool // times of samples of interval 0

	walls map[int64]int64 // times by what clocks showed: each block has them all

	blocks map[string]*sarTextBlock // of the segment, by layout
	block  *sarTextBlock            // the one that was headed last; nil: none, or unknown
	headed bool
	row    sarRow
	fields [][]byte
}

// sarTextBlock is a block of one segment: it goes through the segment's times by itself.
type sarTextBlock struct {
	layout *sarLayout
	said   int64      // the time of the sample that is read, as if in UTC
	sample *sarSample // nil before the first
	begin  int64      // when the next begins by the heading, in ns since 1970; 0: it has none
	first  string     // its first device
	again  bool       // what follows at this time is a sample of interval 0
}

func (d *sarText) line(line []byte) error {
	if !d.begun {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		d.begun = true
		if was, err := d.banner(string(line)); was || err != nil {
			return err
		}
	}
	word, rest, _ := bytes.Cut(line, []byte(" "))
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	switch string(word) {
	case "Average:", "Summary:", "Minimum:", "Maximum:", "Last:":
		d.averaged = true
		return nil
	case "Linux":
		return errors.New("a second report begins: make a file of each")
	}
	d.averaged = false
	clock, rest, err := d.clock(string(word), rest)
	if err != nil {
		return err
	}
	d.fields = wordsOf(d.fields, rest)
	if len(d.fields) == 0 {
		return errors.New("a time without values")
	}
	switch first := string(d.fields[0]); {
	case first == "LINUX" && len(d.fields) > 1 && string(d.fields[1]) == "RESTART":
		return d.restart(clock, string(bytes.Join(d.fields[2:], []byte(" "))))
	case first == "COM":
		from := d.begin
		if d.block != nil {
			from = d.block.said
		}
		at, err := d.wall(d.next(clock, from))
		if err == nil {
			d.comment(at, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(string(rest)), "COM")))
		}
		return err
	}
	if !slices.ContainsFunc(d.fields, func(f []byte) bool {
		return f[0] >= '0' && f[0] <= '9' || len(f) > 1 && f[0] == '-' && f[1] >= '0' && f[1] <= '9'
	}) {
		return d.head(clock)
	}
	return d.values(clock, rest)
}

func wordsOf(dst [][]byte, line []byte) [][]byte {
	dst = dst[:0]
	for w := range bytes.FieldsSeq(line) {
		dst = append(dst, w)
	}
	return dst
}

var sarBanner = regexp.MustCompile(`^Linux (\S+) \((.*)\)\s+(\S.*?)\s+_(\S+)_\s+\((\d+) CPU\)\s*$`)

// banner reads "Linux 6.1.0 (host) 	11/30/26 	_x86_64_	(2 CPU)". was is false if the line
// is none, which only a file whose day is given may begin with.
func (d *sarText) banner(line string) (was bool, err error) {
	m := sarBanner.FindStringSubmatch(strings.TrimPrefix(line, "\ufeff"))
	if m == nil {
		if d.o.Date == "" {
			return false, errors.New("no banner of sar (Linux RELEASE (HOST) DATE _MACHINE_ (N CPU)): give the day if it is missing")
		}
		return false, d.setDay(nil)
	}
	d.f.Host = m[2]
	d.f.Facts["kernel"], d.f.Facts["architecture"], d.f.Facts["cpus"] = m[1], m[4], m[5]
	days, err := daysOf(m[3])
	if err != nil {
		return true, err
	}
	return true, d.setDay(days)
}

// setDay decides among the days that a banner may mean.
func (d *sarText) setDay(days []time.Time) error {
	given := time.Time{}
	if d.o.Date != "" {
		var err error
		if given, err = time.Parse(time.DateOnly, d.o.Date); err != nil {
			return fmt.Errorf("the day given, %q: want 2006-01-02", d.o.Date)
		}
	}
	var names []string
	for _, day := range days {
		names = append(names, day.Format(time.DateOnly))
	}
	switch {
	case len(days) == 0:
		d.day = given
	case d.o.Date != "":
		if !slices.ContainsFunc(days, given.Equal) {
			return fmt.Errorf("the day given, %s, is not the banner's: %s", d.o.Date, strings.Join(names, " or "))
		}
		d.day = given
	case len(days) > 1:
		return fmt.Errorf("the banner's day may be %s: give it, or import the JSON of sadf -j", strings.Join(names, " or "))
	default:
		d.day = days[0]
	}
	d.begin = d.day.UnixNano()
	return nil
}

// daysOf returns the days that a date may be, each once: 11/30/26 is one, 03/04/26 two.
func daysOf(date string) ([]time.Time, error) {
	part := strings.FieldsFunc(date, func(r rune) bool { return r == '/' || r == '-' || r == '.' })
	var n [3]int
	for i := range n {
		var err error
		if len(part) == 3 {
			n[i], err = strconv.Atoi(part[i])
		}
		if len(part) != 3 || err != nil {
			return nil, fmt.Errorf("the banner's day %q: %w", date, errTranslated)
		}
	}
	orders := [][3]int{{2, 0, 1}, {2, 1, 0}, {0, 1, 2}} // places of year, month, day
	switch {
	case len(part[0]) == 4:
		orders = orders[2:]
	case strings.Contains(date, "."):
		orders = orders[1:2]
	case len(part[2]) == 4:
		orders = orders[:2]
	}
	var out []time.Time
	for _, o := range orders {
		year, month, day := n[o[0]], n[o[1]], n[o[2]]
		if year < 100 {
			year += 2000
		}
		t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		if t.Year() == year && int(t.Month()) == month && t.Day() == day && year >= 2000 && year < 2200 && !slices.ContainsFunc(out, t.Equal) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the banner's day %q is none", date)
	}
	return out, nil
}

// clock reads the time of a line: seconds since midnight.
func (d *sarText) clock(word string, rest []byte) (int, []byte, error) {
	var h, m, s int
	digits := func(at int) int {
		a, b := word[at]-'0', word[at+1]-'0'
		if a > 9 || b > 9 {
			return 99
		}
		return int(a)*10 + int(b)
	}
	if len(word) != 8 || word[2] != ':' || word[5] != ':' {
		return 0, nil, fmt.Errorf("%q is no time: %w", word, errTranslated)
	}
	h, m, s = digits(0), digits(3), digits(6)
	half, after, _ := bytes.Cut(bytes.TrimLeft(rest, " "), []byte(" "))
	am, pm := strings.EqualFold(string(half), "AM"), strings.EqualFold(string(half), "PM")
	twelve := am || pm
	if twelve {
		rest = after
	}
	switch {
	case h > 23 || m > 59 || s > 60 || twelve && (h < 1 || h > 12):
		return 0, nil, fmt.Errorf("%q is no time", word)
	case d.clocked && twelve != d.twelve:
		return 0, nil, errors.New("another form of time than in the lines before")
	}
	d.clocked, d.twelve = true, twelve
	if twelve {
		h %= 12
		if pm {
			h += 12
		}
	}
	return h*3600 + m*60 + s, rest, nil
}

const dayNS = int64(24 * time.Hour)

// next returns the first time from `from` on at which a clock shows so many seconds
// since midnight, as if in UTC.
func (d *sarText) next(clock int, from int64) int64 {
	t := from - from%dayNS + int64(clock)*1e9
	if t < from {
		t += dayNS
	}
	return t
}

// wall returns a time that a clock of the zone shows, in ns since 1970.
func (d *sarText) wall(said int64) (int64, error) {
	if at, ok := d.walls[said]; ok {
		return at, nil
	}
	t, err := localTime(time.Unix(0, said).UTC(), d.o.Zone)
	if err == nil {
		d.walls[said] = t.UnixNano()
	}
	return t.UnixNano(), err
}

// restart begins a segment.
func (d *sarText) restart(clock int, words string) error {
	said := d.next(clock, max(d.begin, d.last))
	at, err := d.wall(said)
	if err != nil {
		return err
	}
	d.segment++
	d.restarts = append(d.restarts, sarRestart{at, restartCPUs(words)})
	d.begin, d.last = said, said
	d.blocks, d.block, d.headed = map[string]*sarTextBlock{}, nil, false
	return nil
}

// head reads a heading, whose time is that of the sample before.
func (d *sarText) head(clock int) error {
	names := make([]string, len(d.fields))
	for i, f := range d.fields {
		names[i] = string(f)
	}
	l := d.heading(names)
	d.headed = true
	if l == nil {
		d.block = nil
		return nil
	}
	b := d.blocks[l.key]
	if b == nil {
		b = &sarTextBlock{said: d.next(clock, d.begin)}
		d.blocks[l.key] = b
	}
	b.layout, d.block = l, b
	var err error
	b.begin, err = d.wall(b.next(clock))
	return err
}

// next returns the time that the block has come to at a clock, as if in UTC; clocks go
// back at midnight.
func (b *sarTextBlock) next(clock int) int64 {
	said := b.said - b.said%dayNS + int64(clock)*1e9
	if said < b.said-dayNS/2 {
		said += dayNS
	}
	return said
}

func (d *sarText) values(clock int, rest []byte) error {
	b := d.block
	switch {
	case !d.headed:
		return errors.New("values before any heading")
	case b == nil:
		return nil
	}
	l := b.layout
	d.fields = l.words(d.fields, rest)
	if l.activity.form == sarFormUSB {
		d.splitUSB()
	}
	if len(d.fields) != len(l.fields) {
		for _, f := range d.fields {
			if _, err := sarNumber(f); errors.Is(err, errDecimalComma) {
				return err
			}
		}
		return fmt.Errorf("%d values below %d headings: torn, or not of sar in language C", len(d.fields), len(l.fields))
	}
	if err := l.fill(&d.row, d.fields); err != nil {
		return err
	}
	device := string(d.row.device)
	said := b.next(clock)
	if said < b.said {
		return errors.New("the time is before that of the line above: the clock was set back: import the JSON of sadf -j, which tells the intervals")
	}
	if said == b.said && (b.again || b.sample == nil || device == "" || device == b.first) {
		if b.again = true; !d.empty[said] {
			d.empty[said] = true
			at, err := d.wall(said)
			if err != nil {
				return err
			}
			d.add(&sarSample{wallNS: at})
		}
		return nil
	}
	if said != b.said {
		at, err := d.wall(said)
		if err != nil {
			return err
		}
		b.said, b.sample, b.first, b.again = said, d.sample(at), device, false
		b.sample.beginNS, b.begin = max(b.sample.beginNS, b.begin), 0
		d.last = max(d.last, said)
	}
	return d.take(b.sample, l.activity, &d.row)
}

// splitUSB parts what a USB device says of its maker and itself: 23 bytes, a blank, the
// rest.
func (d *sarText) splitUSB() {
	const maker = 23
	last := len(d.fields) - 1
	if last < 0 {
		return
	}
	rest := d.fields[last]
	cut := min(maker, len(rest))
	d.fields = append(d.fields[:last], bytes.TrimSpace(rest[:cut]), bytes.TrimSpace(rest[cut:]))
}
