package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/steadybench/steady/analyze"
	"github.com/steadybench/steady/loaders"
)

func (a *app) check() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check FILE.yaml",
		Short: "plausibility of published or own figures, each finding with its arithmetic",
		Long: `Reads figures as docs/CHECK.md describes them, applies the rules that the figures allow,
and prints what they find. The exit code is 3 if a figure is impossible.`,
		Args: args(1),
		RunE: func(c *cobra.Command, arg []string) error { return a.runCheck(arg[0], asJSON) },
	}
	jsonFlag(c, &asJSON)
	return c
}

func (a *app) runCheck(path string, asJSON bool) error {
	data, err := readFigureFile(path)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	figures, err := loaders.ReadFigures(path, data)
	if err != nil {
		return err
	}
	findings := analyze.Plausibility(plausibleFigures(figures))
	if asJSON {
		err = writeJSON(a.stdout, newCheckReport(figures, findings))
	} else {
		err = writeFindings(a.stdout, figures, findings)
	}
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Severity == analyze.FindingImpossible {
			return &exitError{code: exitWorse}
		}
	}
	return nil
}

// readFigureFile reads one byte more than a file may have, not an endless device.
func readFigureFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, loaders.MaxFiguresBytes+1))
}

// checkReport is the JSON form, schema "steady.check/1".
type checkReport struct {
	Schema   string            `json:"schema"`
	Title    string            `json:"title"`
	Source   string            `json:"source"`
	Points   int               `json:"points"`
	Counts   map[string]int    `json:"counts"`
	Findings []analyze.Finding `json:"findings"`
}

func newCheckReport(f *loaders.Figures, findings []analyze.Finding) checkReport {
	r := checkReport{Schema: "steady.check/1", Title: f.Title, Source: f.Source, Findings: findings,
		Counts: map[string]int{"impossible": 0, "error": 0, "warning": 0, "note": 0, "holds": 0}}
	if r.Findings == nil {
		r.Findings = []analyze.Finding{}
	}
	for _, t := range f.Tests {
		r.Points += len(t.Points)
	}
	for _, x := range findings {
		if x.Holds {
			r.Counts["holds"]++
		} else {
			r.Counts[string(x.Severity)]++
		}
	}
	return r
}

// writeFindings prints the findings in groups, the worst first, each in the order of
// the file, the sentence under its subject.
func writeFindings(w io.Writer, f *loaders.Figures, findings []analyze.Finding) error {
	r := newCheckReport(f, findings)
	var b strings.Builder
	if f.Title != "" {
		fmt.Fprintln(&b, f.Title)
	}
	fmt.Fprintf(&b, "%d points of %d tests, %d systems: %d impossible, %d errors, %d warnings, %d notes; %d applied and fulfilled\n",
		r.Points, len(f.Tests), len(f.Systems), r.Counts["impossible"], r.Counts["error"], r.Counts["warning"], r.Counts["note"], r.Counts["holds"])
	for _, g := range []struct {
		title string
		in    func(analyze.Finding) bool
	}{
		{"IMPOSSIBLE", func(x analyze.Finding) bool { return x.Severity == analyze.FindingImpossible }},
		{"ERRORS", func(x analyze.Finding) bool { return x.Severity == analyze.FindingError }},
		{"WARNINGS", func(x analyze.Finding) bool { return x.Severity == analyze.FindingWarning }},
		{"NOTES", func(x analyze.Finding) bool { return x.Severity == analyze.FindingNote && !x.Holds }},
		{"AGREES", func(x analyze.Finding) bool { return x.Holds }},
	} {
		first := true
		for _, x := range findings {
			if !g.in(x) {
				continue
			}
			if first {
				fmt.Fprintf(&b, "\n%s\n", g.title)
				first = false
			}
			fmt.Fprintf(&b, "  %s   [%d %s]\n%s", x.Subject, x.Rule, x.Name, wrapText(x.Text, 96, "      "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrapText breaks s into lines of at most width characters, each after indent.
func wrapText(s string, width int, indent string) string {
	var b strings.Builder
	n := 0
	for i, word := range strings.Fields(s) {
		l := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			b.WriteString(indent)
		case n+1+l > width-len(indent):
			b.WriteString("\n" + indent)
			n = 0
		default:
			b.WriteString(" ")
			n++
		}
		b.WriteString(word)
		n += l
	}
	return b.String() + "\n"
}
