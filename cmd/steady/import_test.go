package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/steadybench/steady/ingest"
	"github.com/steadybench/steady/schemas"
)

// toolFile is a file that a real tool wrote.
func toolFile(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../loaders/testdata", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func importInto(t *testing.T, data, scenario string, args ...string) result {
	t.Helper()
	return steady(append(args, "--data", data, "--experiment", "e", "--system", "s", "--scenario", scenario, "--json")...)
}

// What several tools saw of one run becomes one run, each file beside the tables as it
// was; files may come later, and what can't be read leaves nothing.
func TestImportOfSeveralTools(t *testing.T) {
	data := t.TempDir()
	sadf, sysbench, wrk := toolFile(t, "sysstat/restart_sadf_j_A.json"), toolFile(t, "sysbench/oltp_rw_t8.txt"), toolFile(t, "wrk/wrk_t2_c1000_d10.txt")
	r := importInto(t, data, "db", "import", "sadf="+sadf, "sysbench="+sysbench)
	var got []importedRun
	if err := json.Unmarshal([]byte(r.stdout), &got); r.code != 0 || err != nil || len(got) != 1 || got[0].Status != schemas.Complete || got[0].Run != "e/s/db/01" {
		t.Fatalf("exit %d %v\n%s%s", r.code, err, r.stdout, r.stderr)
	}
	m, err := ingest.ReadManifest(got[0].Dir)
	if err != nil {
		t.Fatal(err)
	}
	if m.Start == nil || m.Params["imported"] != "sadf,sysbench" || m.Params["threads"] == nil || tableRows(m, "cpu") == 0 || tableRows(m, "workload") != 15 || len(m.Producers) != 2 {
		t.Errorf("%+v", m)
	}
	if h := m.Hosts[0]; len(m.Hosts) < 1 || h.Facts["sysbench.version"] == "" && m.Hosts[len(m.Hosts)-1].Facts["sysbench.version"] == "" {
		t.Errorf("hosts %+v", m.Hosts)
	}
	// Two boots: no rate crosses the restart.
	if got := must(t, "show", "e/s/db/1", "cpu", "--csv", "--data", data).stdout; !strings.Contains(got, ",1,1000000000,") {
		t.Errorf("no row of the second boot:\n%s", got)
	}
	for name, path := range map[string]string{filepath.Base(sadf): sadf, filepath.Base(sysbench): sysbench} {
		want, _ := os.ReadFile(path)
		var found bool
		for _, o := range m.Outputs {
			if filepath.Base(o.Name) == name {
				have, err := os.ReadFile(filepath.Join(got[0].Dir, "tool-output", o.Name))
				found = err == nil && bytes.Equal(have, want)
			}
		}
		if !found {
			t.Errorf("%s is not beside the tables as it was: %+v", name, m.Outputs)
		}
	}

	if r := importInto(t, data, "db", "import", "wrk="+wrk); r.code != exitFailed || !strings.Contains(r.stderr, "--add to add to it") {
		t.Errorf("again: exit %d: %s", r.code, r.stderr)
	}
	if r := importInto(t, data, "db", "import", "wrk="+wrk, "--add", "--role", "load"); r.code != 0 {
		t.Fatalf("add: exit %d: %s", r.code, r.stderr)
	}
	more, err := ingest.ReadManifest(got[0].Dir)
	if err != nil || more.ID != m.ID || len(more.Producers) != 3 || tableRows(more, "workload") != 16 || tableRows(more, "cpu") != tableRows(m, "cpu") || len(more.Outputs) != 3 {
		t.Errorf("%v %+v", err, more)
	}
}

func TestImportRefusesWhole(t *testing.T) {
	data := t.TempDir()
	cut := toolFile(t, "iperf3/lo_tcp_P1.TRUNCATED_4000B.json")
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"import", "iperf3=" + cut}, exitFailed, "lo_tcp_P1.TRUNCATED_4000B.json: "},
		{[]string{"import", "sar=" + toolFile(t, "sysstat/restart_sar_u.txt")}, exitFailed, "zone"},
		{[]string{"import", "tar=" + cut}, exitUsage, "KIND is one of sadf, sar, perf, wrk, sysbench, iperf3, csv"},
		{[]string{"import", "wrk=" + cut}, exitFailed, "wrk"},
		{[]string{"import", "iperf3=" + filepath.Join(data, "none")}, exitFailed, "no such file"},
	} {
		if r := importInto(t, data, "c", tt.args...); r.code != tt.code || !strings.Contains(r.stderr, tt.says) {
			t.Errorf("%v: exit %d: %s", tt.args, r.code, r.stderr)
		}
	}
	if ms := manifests(t, data); len(ms) != 0 {
		t.Errorf("%d runs of files that were refused", len(ms))
	}
	r := importInto(t, data, "c", "import", "iperf3="+cut, "--salvage")
	if r.code != 0 {
		t.Fatalf("salvage: exit %d: %s", r.code, r.stderr)
	}
	if m := one(t, data); m.Status != schemas.Incomplete || tableRows(m, "workload") == 0 || len(m.Reasons) == 0 {
		t.Errorf("%s %q, tables %+v", m.Status, m.Reasons, m.Tables)
	}
}

// A tool that ended well and measured nothing is a failed run: it is no figure of 0.
func TestImportOfARunWithoutResult(t *testing.T) {
	data := t.TempDir()
	if r := importInto(t, data, "c", "import", "iperf3="+toolFile(t, "iperf3/noserver.json")); r.code != 0 || !strings.Contains(r.stdout, `"status": "failed"`) {
		t.Fatalf("exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if m := one(t, data); m.Status != schemas.Failed || tableRows(m, "workload") != 0 {
		t.Errorf("%s, tables %+v", m.Status, m.Tables)
	}
}
