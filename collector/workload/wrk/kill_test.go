package wrk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/collector/workload"
	"github.com/steadybench/steady/collector/workload/undo"
	"github.com/steadybench/steady/schemas"
)

// roleEnv makes the test binary a steady that is to be killed, with this directory.
const roleEnv = "STEADY_WRK_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(roleEnv); dir != "" {
		fmt.Println("error", toBeKilled(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// said prints the phases of a run as they begin.
type said struct{}

func (said) Row(schemas.Row)            {}
func (said) Phase(name string, _ int64) { fmt.Println(name, 0) }
func (said) Output(string, []byte)      {}

func toBeKilled(dir string) error {
	j, err := undo.Open(filepath.Join(dir, "undo.journal"))
	if err != nil {
		return err
	}
	scratch := filepath.Join(dir, "scratch")
	if _, err := j.Removing(scratch); err != nil {
		return err
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	w, err := New(decoder("connections: 4\nthreads: 1\nworkers: 2"))
	if err != nil {
		return err
	}
	env := &workload.Env{Dir: scratch, Warmup: 2 * time.Second, Measure: time.Hour, Undo: j, Warn: func(error) {}}
	s, err := w.Start(context.Background(), env)
	if err != nil {
		return err
	}
	fmt.Println("started", s.Watch[0].PID)
	_, boot := collector.Now()
	return errors.Join(s.Job(boot+1e9).Run(context.Background(), said{}), s.Stop())
}

// processes returns the live ones of a group, and those whose command names dir.
func processes(t *testing.T, group, dir string) (out []string) {
	t.Helper()
	all, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		command, err2 := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || err2 != nil {
			continue // it just ended
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[0] != "Z" && fields[0] != "X" && (fields[2] == group || strings.Contains(string(command), dir)) {
			out = append(out, e.Name()+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return out
}

func TestKilledInEachPhaseLeavesNothing(t *testing.T) {
	need(t, "wrk", "nginx")
	for _, phase := range []string{"started", "warmup", "measure"} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), roleEnv+"="+dir)
			cmd.Stderr = os.Stderr
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var group string
			for in := bufio.NewScanner(stdout); in.Scan(); {
				name, rest, _ := strings.Cut(in.Text(), " ")
				if name == "started" {
					group = rest
				}
				if name == phase || name == "error" {
					if name == "error" {
						t.Error(rest)
					}
					break
				}
			}
			cmd.Process.Kill()
			cmd.Wait()
			if len(processes(t, group, dir)) == 0 {
				t.Error("no worker outlived its master: nothing is tested")
			}
			j, err := undo.Open(filepath.Join(dir, "undo.journal"))
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if _, err := j.Undo(); err != nil {
				t.Error(err)
			}
			// wrk was sent its signal by the kernel, and may still be ending.
			deadline := time.Now().Add(10 * time.Second)
			left := processes(t, group, dir)
			for len(left) > 0 && time.Now().Before(deadline) {
				left = processes(t, group, dir)
			}
			if len(left) > 0 {
				t.Errorf("left: %q", left)
				if pid, err := strconv.Atoi(group); err == nil {
					syscall.Kill(-pid, syscall.SIGKILL)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "scratch")); !os.IsNotExist(err) {
				t.Errorf("the directory: %v", err)
			}
		})
	}
}
