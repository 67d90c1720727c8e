package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// summary counts the columns by verdict and the readings.
type summary struct {
	Columns  int `json:"columns"`
	Agree    int `json:"agree"`
	Moved    int `json:"agree_and_moved"`
	Differ   int `json:"differ"`
	Known    int `json:"differ_for_a_known_reason"`
	Without  int `json:"none_of_ours"`
	NotTaken int `json:"not_compared"`
	Readings int `json:"readings"`
	Agreed   int `json:"readings_that_agree"`
}

func (c *comparison) summary() (s summary) {
	s.Columns = len(c.results)
	for _, r := range c.results {
		s.Readings += r.Compared
		s.Agreed += r.Agreed
		switch r.Verdict {
		case absent:
			s.Without++
		case notCompared:
			s.NotTaken++
		case agrees:
			s.Agree++
			s.Moved++
		case neverMoved:
			s.Agree++
		case explained:
			s.Differ++
			s.Known++
		case differs:
			s.Differ++
		}
	}
	return s
}

// widths returns the median and the largest time between the readings of a bracket.
func (c *comparison) widths() (median, largest time.Duration) {
	var w []time.Duration
	for _, b := range c.brackets {
		w = append(w, b.after.end-b.before.begin)
	}
	if len(w) == 0 {
		return 0, 0
	}
	slices.Sort(w)
	return w[len(w)/2], w[len(w)-1]
}

// where says where a difference was.
func (m *miss) where() string {
	at := fmt.Sprintf("at %.0f s", m.At.Seconds())
	if m.Device != "" {
		at = m.Device + " " + at
	}
	return fmt.Sprintf("%s: sar %d, ours %s to %s", at, m.Sar, m.Before, m.After)
}

func (r *result) largest() string {
	switch {
	case r.Worst == nil:
		return ""
	case r.Worst.Before == "null":
		return r.Worst.where()
	}
	return fmt.Sprintf("%d %s, %s", r.Worst.By, r.Unit, r.Worst.where())
}

func share(n, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// headline says what was compared with what.
func (c *comparison) headline() string {
	median, largest := c.widths()
	load := "idle"
	if c.load {
		load = "half of the time idle, half under load"
	}
	return fmt.Sprintf("steady beside sadc of sysstat %s: %d records, a second apart, %s; %.0f ms between our readings before and after one of sadc's (median; at most %.0f ms)",
		c.version, c.records, load, 1e3*median.Seconds(), 1e3*largest.Seconds())
}

func (s summary) sentences() (out []string) {
	out = append(out, fmt.Sprintf("%d of %d columns agree always (%d of them moved); %d of %d readings agree (%.3f %%).",
		s.Agree, s.Agree+s.Differ, s.Moved, s.Agreed, s.Readings, 100*float64(s.Agreed)/float64(max(s.Readings, 1))))
	if s.Differ > 0 {
		out = append(out, fmt.Sprintf("%d differ, %d of them for a known reason.", s.Differ, s.Known))
	}
	if s.Without > 0 {
		out = append(out, fmt.Sprintf("%d more have nothing of ours to be compared with.", s.Without))
	}
	if s.NotTaken > 0 {
		out = append(out, fmt.Sprintf("%d more could not be compared here.", s.NotTaken))
	}
	return out
}

func (c *comparison) writeText(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", c.headline())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "activity\tsar\tours\treadings\tagree\t\tlargest difference")
	for _, r := range c.results {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", strings.TrimPrefix(r.Activity, "A_"), r.Sar, r.Ours, r.Compared, share(r.Agreed, r.Compared), r.Verdict, r.largest())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, s := range c.summary().sentences() {
		fmt.Fprintln(w, s)
	}
	for i := 0; i < len(c.results); {
		r, names := c.results[i], ""
		for ; i < len(c.results) && c.results[i].Activity == r.Activity && c.results[i].Verdict == r.Verdict && c.results[i].Why == r.Why; i++ {
			names += " " + c.results[i].Sar
		}
		if r.Why != "" {
			fmt.Fprintf(w, "  %s%s: %s: %s\n", strings.TrimPrefix(r.Activity, "A_"), names, r.Verdict, r.Why)
		}
	}
	return nil
}

func (c *comparison) writeJSON(w io.Writer) error {
	median, largest := c.widths()
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(map[string]any{
		"sysstat": c.version, "began": c.began.UTC(), "records": c.records, "load": c.load, "absent": c.absent,
		"bracket_median_ns": median, "bracket_largest_ns": largest, "summary": c.summary(), "columns": c.results,
	})
}
