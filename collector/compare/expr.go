package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/steadybench/steady/schemas"
)

// expr is an expression over the columns of one of our tables.
type expr struct {
	table *schemas.Table
	terms []term
}

// term is a product: columns, times mul, by div.
type term struct {
	minus    bool
	cols     []int
	mul, div uint64
}

// parseExpr parses "table.column * column / 1024 + column - 1": operands and operators
// have blanks between them, * and / bind more strongly, and all columns are of one
// table.
func parseExpr(s string) (*expr, error) {
	e := &expr{}
	t := term{mul: 1, div: 1}
	op := "+"
	for i, f := range strings.Fields(s) {
		if i%2 == 1 {
			switch op = f; f {
			case "+", "-":
				e.terms = append(e.terms, t)
				t = term{mul: 1, div: 1, minus: f == "-"}
			case "*", "/":
			default:
				return nil, fmt.Errorf("%q: %q is no operator", s, f)
			}
			continue
		}
		n, err := strconv.ParseUint(f, 10, 64)
		switch {
		case err == nil && op == "/":
			t.div *= n
		case err == nil:
			t.mul *= n
		default:
			if e.table == nil {
				var table string
				if table, f, _ = strings.Cut(f, "."); f == "" {
					return nil, fmt.Errorf("%q: no table", s)
				}
				if e.table, err = schemas.Lookup(table); err != nil {
					return nil, fmt.Errorf("%q: %w", s, err)
				}
			}
			col := e.table.Column(f)
			if col < 0 || op == "/" {
				return nil, fmt.Errorf("%q: %s is no column of table %s, or a divisor", s, f, e.table.Name)
			}
			t.cols = append(t.cols, col)
		}
	}
	if e.table == nil || t.div == 0 {
		return nil, fmt.Errorf("%q: no column", s)
	}
	e.terms = append(e.terms, t)
	return e, nil
}

// of evaluates a row of a block of the table, modulo 2^64. It is not known if one of
// the columns isn't.
func (e *expr) of(b *schemas.Block, row int) (sum uint64, known bool) {
	for _, t := range e.terms {
		v := t.mul
		for _, c := range t.cols {
			i := row*len(e.table.Columns) + c
			if !b.Known[i] {
				return 0, false
			}
			v *= uint64(b.Values[i])
		}
		if v /= t.div; t.minus {
			v = -v
		}
		sum += v
	}
	return sum, true
}
