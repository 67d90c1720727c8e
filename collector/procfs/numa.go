package procfs

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/steadybench/steady/schemas"
)

// numaFinder finds the memory nodes.
func numaFinder(h *host) finder {
	return func(l *layout) {
		const dir = "devices/system/node"
		for _, node := range l.entries(h, dir, "node") {
			id := strings.TrimPrefix(node, "node")
			if strings.Trim(id, "0123456789") != "" {
				continue
			}
			row := l.row(id, "")
			at := filepath.Join(h.sys, dir, node)
			l.cell(filepath.Join(at, "numastat"), "numa_hit", fillNode, row)
			l.cell(filepath.Join(at, "meminfo"), "total_bytes", fillNode, row)
		}
	}
}

// fillNode fills a row from a node's numastat ("numa_hit 5") or meminfo ("Node 0 MemTotal:
// 5 kB"), by the columns' Sources. A line that does not parse costs its column; the first
// one is told.
func fillNode(c *cell, b *schemas.Block) (first fault) {
	l := lines{text: c.text}
	for line, ok := l.next(); ok; line, ok = l.next() {
		name, s := word(line)
		unit := ""
		if string(name) == "Node" {
			_, s = word(s) // its number
			if name, s = word(s); len(name) > 0 {
				name = name[:len(name)-1] // the colon
			}
			unit = "kB"
		}
		col := -1
		for i := range b.Table.Columns {
			if b.Table.Columns[i].Source == string(name) {
				col = i
				break
			}
		}
		if col < 0 {
			continue
		}
		v, rest, f := number(s)
		if got := bytes.Trim(rest, " \t"); f.why == "" && string(got) != unit {
			f = fault{bytes.TrimSpace(s), "not followed by its unit alone"}
		}
		if f.why == "" && !set(b, c.rows[0], col, v) {
			f = fault{bytes.TrimSpace(s), outOfRange}
		}
		if first.why == "" {
			first = f
		}
	}
	if len(l.text) > 0 && first.why == "" {
		first = fault{l.text, "cut off"}
	}
	return first
}
