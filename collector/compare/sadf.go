package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one row of sadf -r: what sadc read about one device, in one record.
type row struct {
	activity string
	ids      map[string]string // the fields that name the device, with their values
	at       time.Duration     // uptime of the record
	was      time.Duration     // uptime of the record before
	fresh    bool              // the device was not in the record before
	values   []value           // in order
}

// value is one raw number: a gauge, or a counter with its reading in the record before.
type value struct {
	name    string
	counter bool
	was, is string // as printed
}

// ids are the fields that tell which device a row is about; one value follows each.
var ids = []string{"CPU", "INTR", "TTY", "major", "minor", "DEV", "IFACE", "FCHOST", "FAN", "TEMP", "IN", "BAT", "DEVICE",
	"manufact", "product", "BUS", "idvendor", "idprod", "FILESYSTEM", "MOUNTPOINT"}

// raw has sadf print a file of sadc and returns its rows. CPUs that are offline have
// none.
func raw(ctx context.Context, sadf, path string) ([]row, error) {
	// The debugging output says where a record begins and what is new; mount points
	// have the names that we give them.
	c := exec.CommandContext(ctx, sadf, "-r", "-O", "debug", path, "--", "-A", "-F", "MOUNT")
	c.Env = append(os.Environ(), "LC_ALL=C", "S_COLORS=never", "TZ=UTC")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("sadf: %s: %w: %s", path, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return parseRaw(bytes.NewReader(out))
}

// parseRaw parses the output of sadf -r -O debug. What it can't read is an error.
func parseRaw(r io.Reader) ([]row, error) {
	var out []row
	var activity string
	var at, was time.Duration
	first := time.Duration(-1)
	previous := map[string]time.Duration{} // by activity: its last record
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<24) // a row of interrupts is as long as there are CPUs
	for n := 1; s.Scan(); n++ {
		fields := strings.Split(strings.TrimSuffix(s.Text(), ";"), ";")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		bad := func(why string) error { return fmt.Errorf("sadf: line %d: %s: %.100q", n, why, s.Text()) }
		switch {
		case fields[0] == "# uptime_cs" && len(fields) > 1:
			cs, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return nil, bad("no uptime")
			}
			if at = time.Duration(cs) * 10 * time.Millisecond; first < 0 {
				first = at // it has no rows of its own: a row is about two records
			}
		case fields[0] == "# name" && len(fields) > 1:
			activity = fields[1]
			p, ok := previous[activity]
			if !ok || at <= p { // memory comes twice, from the start
				p = first
			}
			was, previous[activity] = p, at
		case strings.HasPrefix(fields[0], "#"):
			// more debugging output
		case activity == "":
			return nil, bad("a row before the name of its activity")
		default:
			x := row{activity: activity, at: at, was: was}
			offline, err := x.parse(fields[1:])
			if err != nil {
				return nil, bad(err.Error())
			}
			if _, twice := x.ids["FILESYSTEM"]; offline || twice { // by device; once more by mount point
				continue
			}
			out = append(out, x)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("sadf: %w", err)
	}
	if len(out) == 0 {
		return nil, errors.New("sadf: no rows: the file needs two records")
	}
	return splitInterrupts(out), nil
}

// parse fills a row from its fields after the time.
func (x *row) parse(fields []string) (offline bool, err error) {
	x.ids = map[string]string{}
	for i := 0; i < len(fields); {
		name, mark, _ := strings.Cut(fields[i], " [")
		i++
		switch strings.TrimSuffix(mark, "]") {
		case "":
		case "NEW", "BCK": // BCK: it was there before, and was away
			x.fresh = true
		case "OFF":
			offline = true
		case "TLS", "DEC": // a CPU that did not tick; a number that went back
		default:
			return false, fmt.Errorf("unknown mark [%s", mark)
		}
		if slices.Contains(ids, name) {
			if i == len(fields) {
				return false, fmt.Errorf("%s has no value", name)
			}
			x.ids[name] = strings.Trim(fields[i], `"`)
			i++
			continue
		}
		v := value{name: name}
		for ; i < len(fields) && number(fields[i]); i++ {
			switch {
			case v.is == "":
				v.is = fields[i]
			case !v.counter:
				v.counter, v.was, v.is = true, v.is, fields[i]
			default:
				return false, fmt.Errorf("%s has three values", name)
			}
		}
		if v.is == "" {
			return false, fmt.Errorf("%s has no value", name)
		}
		x.values = append(x.values, v)
	}
	return offline, nil
}

// number reports whether a field is a number: no name of sar's begins with a digit.
func number(s string) bool { return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') }

// splitInterrupts makes rows of one value each of the rows of interrupts, which have a
// value for all CPUs and one for each: "sum" (all CPUs), "sum CPU" (device "0"),
// "intr/s" (device "LOC"), "intr/s CPU" (device "LOC/0").
func splitInterrupts(rows []row) []row {
	out := make([]row, 0, len(rows))
	for _, x := range rows {
		if x.activity != "A_IRQ" {
			out = append(out, x)
			continue
		}
		for _, v := range x.values {
			y, device, name := x, x.ids["INTR"], "intr/s"
			if device == "sum" {
				device, name = "", "sum"
			}
			if cpu, ok := strings.CutPrefix(v.name, "CPU"); ok {
				device, name = strings.TrimPrefix(device+"/"+cpu, "/"), name+" CPU"
			}
			v.name = name
			y.ids, y.values = map[string]string{"interrupt": device}, []value{v}
			out = append(out, y)
		}
	}
	return out
}
