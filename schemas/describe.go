package schemas

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// Description is a table's facts as a file carries them in its metadata, under the
// key steady.schema.
type Description struct {
	Table   string              `json:"table"`
	Version int                 `json:"version"`
	Device  string              `json:"device,omitempty"`
	Columns []ColumnDescription `json:"columns"`
	// Stored are the columns behind them: a foreign tool's own rates.
	Stored []ColumnDescription `json:"stored,omitempty"`
}

// ColumnDescription is one column's facts.
type ColumnDescription struct {
	Name      string    `json:"name"`
	Unit      string    `json:"unit,omitempty"`
	Kind      string    `json:"kind"`
	Metric    string    `json:"metric,omitempty"`
	Direction Direction `json:"direction,omitempty"`
	Enabled   string    `json:"enabled,omitempty"`
	Running   string    `json:"running,omitempty"`
	Sar       string    `json:"sar,omitempty"`
	Help      string    `json:"help"`
}

// Describe returns the table's facts.
func (t *Table) Describe() Description {
	d := Description{Table: t.Name, Version: t.Version, Device: t.Device}
	for i := range t.Columns {
		c := &t.Columns[i]
		cd := ColumnDescription{Name: c.Name, Unit: c.Unit, Kind: c.Kind.String(), Enabled: c.Enabled, Running: c.Running, Sar: c.Sar, Help: c.Help}
		if m, ok := t.metric(c); ok {
			cd.Metric, cd.Direction = m.Name, m.Better
		}
		d.Columns = append(d.Columns, cd)
	}
	for _, m := range t.Stored() {
		d.Stored = append(d.Stored, ColumnDescription{Name: m.Name, Unit: m.Unit, Kind: "rate", Metric: m.Name, Direction: m.Better, Sar: m.Sar, Help: m.Help})
	}
	return d
}

// CommonColumns returns the columns that the table's files begin with.
func (t *Table) CommonColumns() []Column {
	if t.Device == "" {
		return Common[:len(Common)-1]
	}
	return Common
}

// FileMetadata returns the key-value metadata of the table's files: steady.schema,
// and ARROW:schema, by which Arrow readers show each column's facts.
func (t *Table) FileMetadata() (map[string]string, error) {
	desc, err := json.Marshal(t.Describe())
	if err != nil {
		return nil, fmt.Errorf("schemas: %s: %w", t.Name, err)
	}
	var fields []arrow.Field
	for i := range t.CommonColumns() {
		c := &Common[i]
		f := arrow.Field{Name: c.Name, Type: arrowType(c), Nullable: c.Name == "time" || c.Name == "interval_ns"}
		if c.Name == "time" {
			f.Type = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
		}
		f.Metadata = arrow.NewMetadata([]string{"unit", "help"}, []string{c.Unit, c.Help})
		fields = append(fields, f)
	}
	described := t.Describe()
	add := func(c ColumnDescription, as arrow.DataType) {
		fields = append(fields, arrow.Field{Name: c.Name, Type: as, Nullable: true,
			Metadata: arrow.NewMetadata([]string{"unit", "help"}, []string{c.Unit, c.Help})})
	}
	for i, c := range described.Columns {
		add(c, arrowType(&t.Columns[i]))
	}
	for _, c := range described.Stored {
		add(c, arrow.PrimitiveTypes.Float64)
	}
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(arrow.NewSchema(fields, nil)))
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("schemas: %s: %w", t.Name, err)
	}
	const endOfStream = 8 // bytes after the schema's message
	return map[string]string{
		"steady.schema": string(desc),
		"ARROW:schema":  base64.StdEncoding.EncodeToString(b.Bytes()[:b.Len()-endOfStream]),
	}, nil
}

// WriteDoc writes all tables as the Markdown page docs/SCHEMA.md.
func WriteDoc(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(`# Tables and columns

Written by ` + "`steady schema --markdown`" + ` from the code that collects, stores and analyses them.

A run folder holds one Parquet file a table. Counters, shares and busy times are stored
as the increment of each row's interval (null where unknown: the reason and both readings
stand in ` + "`quality.parquet`" + `), gauges as read. Metrics are formed on loading: the sum of the
increments over the sum of the intervals, or of the whole, of the rows in the window.

| kind | in the file | metric |
| --- | --- | --- |
| counter | increment | a rate: ` + "`NAME_per_s`" + ` |
| share | increment, in clock ticks | percent of the row's whole: ` + "`user_ticks`" + ` gives ` + "`user_pct`" + ` |
| busy | increment, in nanoseconds | percent of the interval: ` + "`io_ns`" + ` gives ` + "`io_pct`" + ` |
| gauge | as read | its mean, weighted by interval |
| amount | what happened in the row's interval | see the derived metrics |
| text, histogram | as given | |

Behind its columns a file has, as float64, each metric that sar or another tool prints
(those with a name in the column sar): where data were imported from such a tool its own
figure stands there, and the increments are null. A row of device ` + "`all`" + ` is such a tool's
own total.

Every file begins with:

| column | type | is |
| --- | --- | --- |
`)
	for i := range Common {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", Common[i].Name, commonType(&Common[i]), Common[i].Help)
	}
	for _, t := range Tables {
		fmt.Fprintf(&b, "\n## %s\nVersion %d; %s.", t.Name, t.Version, t.Help)
		if t.Device != "" {
			fmt.Fprintf(&b, " `device` is the %s.", t.Device)
		}
		b.WriteString("\n\n| column | type | unit | kind | metric | better | sar | is |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
		for i, c := range t.Describe().Columns {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", c.Name, typeName(&t.Columns[i]), c.Unit, c.Kind, c.Metric, c.Direction, c.Sar, cellText(c.Help))
		}
		if len(t.Derived) == 0 {
			continue
		}
		b.WriteString("\n| derived metric | unit | better | is | sar | formed |\n| --- | --- | --- | --- | --- | --- |\n")
		for _, m := range t.Derived {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | `%s` |\n", m.Name, m.Unit, m.Better, cellText(m.Help), m.Sar, t.Formula(&m))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Formula returns how a metric of the table is formed, for people.
func (t *Table) Formula(m *Metric) string {
	if m.Quantile != 0 {
		return fmt.Sprintf("quantile %g of the merged %s", m.Quantile, m.Plus[0])
	}
	f := strings.Join(m.Plus, " + ")
	for _, c := range m.Minus {
		f += " - " + c
	}
	level := func(columns []string) bool {
		return len(columns) > 0 && t.Columns[t.Column(columns[0])].Kind == Gauge
	}
	per := strings.Join(m.Per, " + ")
	switch gauge := level(m.Plus); {
	case gauge && m.Per == nil:
		f = "mean of (" + f + "), weighted by interval"
	case !gauge && level(m.Per):
		f = "sum(" + f + ") / sum((" + per + ") * seconds)"
	case level(m.Per):
		f = "mean of (" + f + ") / mean of (" + per + "), weighted by interval"
	case gauge:
		f = "mean of (" + f + "), weighted by " + per
	case m.Per == nil:
		f = "sum(" + f + ") / seconds"
	default:
		f = "sum(" + f + ") / sum(" + per + ")"
	}
	if m.Factor != 0 {
		f += fmt.Sprintf(" * %g", m.Factor)
	}
	if c := &t.Columns[t.Column(m.Plus[0])]; c.Running != "" {
		f += fmt.Sprintf(", counts scaled by %s / %s", c.Enabled, c.Running)
	}
	return f
}

func cellText(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func commonType(c *Column) string {
	if c.Name == "time" {
		return "timestamp(us, UTC)"
	}
	return typeName(c)
}

func typeName(c *Column) string {
	return [...]string{"int64", "double", "string", "binary"}[c.Physical()]
}
