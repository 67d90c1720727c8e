package steady_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/steadybench/steady/"

// arrows are the imports that each folder may have of the project's own packages, and
// of the libraries that are kept to one place. What is not listed may import nothing
// of either. docs/ARCHITECTURE.md shows them.
var arrows = map[string]string{
	"schemas":                 "arrow zstd",
	"columns":                 "schemas parquet",
	"wal":                     "",
	"bus":                     "schemas wal nats nats-server",
	"collector":               "schemas",
	"collector/compare":       "collector collector/procfs schemas",
	"collector/cost":          "bus",
	"collector/perf":          "collector schemas",
	"collector/procfs":        "collector schemas",
	"collector/workload":      "collector collector/workload/undo schemas hdrhistogram fasthttp",
	"collector/workload/undo": "",
	"collector/workload/wrk":  "schemas collector collector/workload outputs",
	"campaign":                "schemas collector collector/workload bus",
	"ingest":                  "schemas columns bus",
	"loaders":                 "schemas columns outputs hdrhistogram yaml",
	"analyze":                 "gonum",
	"analyze/critical":        "analyze",
	"analyze/evaluate":        "analyze gonum",
	"analyze/evaluatedrift":   "analyze",
	"analyze/protocol":        "analyze/evaluate analyze/evaluatedrift",
	"outputs":                 "schemas hdrhistogram",
	"report":                  "schemas",
	"simulate":                "schemas",
	"cmd/steady":              "*",
}

// kept are the libraries that only some folders may use.
var kept = map[string]string{
	"github.com/apache/arrow/":           "arrow",
	"github.com/klauspost/compress/zstd": "zstd",
	"github.com/parquet-go/":             "parquet",
	"github.com/nats-io/nats.go":         "nats",
	"github.com/nats-io/nats-server/":    "nats-server",
	"github.com/HdrHistogram/":           "hdrhistogram",
	"github.com/valyala/fasthttp":        "fasthttp",
	"gonum.org/":                         "gonum",
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimPrefix(p.ImportPath, module)
		if folder+"/" == module {
			continue // this test
		}
		allowed, ok := arrows[folder]
		if !ok {
			t.Errorf("%s: a folder that the architecture doesn't have: add it to docs/ARCHITECTURE.md and here", folder)
			continue
		}
		if allowed == "*" {
			continue
		}
		for _, imp := range p.Imports {
			name, own := strings.CutPrefix(imp, module)
			if !own {
				name = ""
				for prefix, n := range kept {
					if strings.HasPrefix(imp, prefix) {
						name = n
					}
				}
			}
			if name != "" && !slices.Contains(strings.Fields(allowed), name) {
				t.Errorf("%s imports %s, against the arrows of docs/ARCHITECTURE.md", folder, imp)
			}
		}
	}
}
