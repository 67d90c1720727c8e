package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/steadybench/steady/schemas"
)

// Markdown writes the verdicts as compact tables, to be pasted into an issue.
func Markdown(w io.Writer, r *schemas.Results) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### Experiment %s\n\n", md(r.Experiment))
	a := account(r.Quality)
	names := systemNames(r)
	line := count(len(names), "system")
	if a.runs > 0 {
		line += fmt.Sprintf(", %d of %s used", a.used, count(a.runs, "run"))
	}
	if r.Baseline != "" {
		line += ", compared with " + md(r.Baseline) + ", margin ±" + percentText(r.MarginPercent)
	} else {
		line += ", no baseline: nothing is compared"
	}
	b.WriteString(line + "\n")
	for i := range r.Scenarios {
		markdownScenario(&b, r, &r.Scenarios[i])
	}
	if len(r.Drift) > 0 {
		b.WriteString("\n#### Drift within runs\n\n")
		for i := range r.Drift {
			fmt.Fprintf(&b, "- **%s**: %s\n", md(r.Drift[i].Verdict), md(driftText(&r.Drift[i])))
		}
	}
	if len(a.unused)+len(a.marked)+len(r.Plausibility) > 0 {
		b.WriteString("\n#### Data\n\n")
		for i := range a.unused {
			fmt.Fprintf(&b, "- %s not used: %s\n", md(runName(&a.unused[i])), md(why(&a.unused[i])))
		}
		for i := range a.marked {
			fmt.Fprintf(&b, "- %s: %s\n", md(runName(&a.marked[i])), md(troubles(&a.marked[i])))
		}
		for _, f := range r.Plausibility {
			fmt.Fprintf(&b, "- %s: %s: %s\n", md(f.Severity), md(f.Subject), md(f.Text))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func markdownScenario(b *bytes.Buffer, r *schemas.Results, s *schemas.Scenario) {
	g := group(s)
	cmp := compared(s)
	listed := append(append([]*schemas.MetricResult{}, g.primary...), g.differ...)
	fmt.Fprintf(b, "\n#### %s\n\n", md(s.Scenario))
	var n notes
	lvMean, lvDiff := level(s)
	if len(listed) > 0 {
		b.WriteString("| metric | unit |")
		rule := "| --- | --- |"
		if cmp && r.Baseline != "" {
			fmt.Fprintf(b, " %s |", md(r.Baseline))
			rule += " ---: |"
		}
		fmt.Fprintf(b, " system | mean ±%s |", levelText(lvMean))
		rule += " --- | ---: |"
		if cmp {
			fmt.Fprintf(b, " difference [%s] | verdict |", levelText(lvDiff))
			rule += " ---: | --- |"
		}
		b.WriteString("\n" + rule + "\n")
	}
	for _, m := range listed {
		for _, rw := range rows(r, m) {
			name, unit := "", ""
			if rw.first {
				name, unit = md(label(s, m)), md(rw.scale.unit)
				if m.Primary && cmp {
					name = "**" + name + "**"
				}
			}
			fmt.Fprintf(b, "| %s | %s |", name, unit)
			if cmp && r.Baseline != "" {
				fmt.Fprintf(b, " %s |", mdCell(meanCell(&n, &rw, rw.base, lvMean).text))
			}
			fmt.Fprintf(b, " %s | %s |", md(rw.name), mdCell(meanCell(&n, &rw, rw.system, lvMean).text))
			if cmp {
				v := rw.verdict()
				c := verdictCell(&n, &rw, v.kind != schemas.Undecided, false)
				t := mdCell(c.text)
				if v.kind == schemas.Better || v.kind == schemas.Worse {
					t = strings.Replace(t, v.word, "**"+v.word+"**", 1)
				}
				fmt.Fprintf(b, " %s | %s |", mdCell(differenceCell(&n, &rw, lvDiff).text), t)
			}
			b.WriteByte('\n')
		}
	}
	if len(g.rest) > 0 {
		fmt.Fprintf(b, "\n%s.\n", restLine(g.rest, r.MarginPercent))
	}
	if len(n.texts) > 0 {
		b.WriteByte('\n')
		for i, t := range n.texts {
			fmt.Fprintf(b, "- (%d) %s\n", i+1, md(t))
		}
	}
}

// md escapes what Markdown would take for markup.
func md(s string) string { return markdownEscapes.Replace(plain(s)) }

// mdCell is for text made here: numbers, units and words.
func mdCell(s string) string { return cellEscapes.Replace(plain(s)) }

var (
	markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
		"#", `\#`, "~", `\~`, "[", `\[`, "]", `\]`, "__", `\_\_`)
	cellEscapes = strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;")
)
