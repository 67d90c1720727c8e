package loaders

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// WriteSarDoc writes where each column of sar goes, as the second part of the Markdown
// page docs/SCHEMA.md.
func WriteSarDoc(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(`
# Where sar's columns are

All columns that sar and sadf of sysstat 10.0 to 12.8 print, and what is theirs here: what
the collector reads is the same counter or level, what steady import reads becomes it.
`)
	activity := ""
	for _, c := range SarColumns() {
		if c.Activity != activity {
			activity = c.Activity
			fmt.Fprintf(&b, "\n## sar %s (%s)\n\n| sar | sadf -j | here | how, or why not |\n| --- | --- | --- | --- |\n", c.Option, c.Activity)
		}
		here := "-"
		if c.Table != "" {
			here = c.Table + "." + c.Column
			if c.Device != "" {
				here += " of " + c.Device
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.Sar, c.JSON, here, strings.ReplaceAll(c.Why, "|", `\|`))
	}
	_, err := w.Write(b.Bytes())
	return err
}
