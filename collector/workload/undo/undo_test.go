package undo

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func open(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func must(t *testing.T) func(func() error, error) func() error {
	return func(undo func() error, err error) func() error {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return undo
	}
}

// family starts a shell in a group of its own with a child that outlives it, and returns
// both.
func family(t *testing.T) (leader *exec.Cmd, child int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	fmt.Sscan(line, &child)
	return cmd, child
}

func alive(pid int) bool {
	_, _, err := stat(pid)
	return err == nil
}

// What a killed process left is undone by the next one, last first, and once.
func TestTheNextProcessUndoes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "undo")
	made, log := filepath.Join(dir, "made"), filepath.Join(dir, "log")
	setting := filepath.Join(dir, "setting")
	if err := os.WriteFile(setting, []byte("128\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	j := open(t, path)
	ok := must(t)
	ok(j.Removing(made))
	if err := os.MkdirAll(filepath.Join(made, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	ok(j.Running("sh", "-c", "ls "+made+" >> "+log))
	ok(j.Set(setting, "4096"))
	leader, child := family(t)
	ok(j.Killing(leader.Process.Pid))
	if b, _ := os.ReadFile(setting); string(b) != "4096" {
		t.Fatalf("the setting is %q", b)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "another steady") {
		t.Errorf("opened twice: %v", err)
	}
	// As a kill would leave it, in the middle of a line; and the group's leader is gone.
	syscall.Kill(leader.Process.Pid, syscall.SIGKILL)
	leader.Wait()
	j.f.WriteString(`{"id":9,"remove":"/`)
	j.f.Close()

	j = open(t, path)
	if n := len(j.Left()); n != 4 {
		t.Fatalf("%d steps left, want 4: %v", n, j.Left())
	}
	undone, err := j.Undo()
	if err != nil || len(undone) != 4 || undone[0].Kill == nil || undone[3].Remove != made {
		t.Fatalf("%v %v", err, undone)
	}
	if alive(child) {
		t.Error("a member of the group lives")
	}
	if b, _ := os.ReadFile(setting); string(b) != "128" {
		t.Errorf("the setting is %q", b)
	}
	if b, _ := os.ReadFile(log); string(b) != "deep\n" {
		t.Errorf("the command saw %q: it was to run before the directory went", b)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the directory is there")
	}
	j.Close()
	j = open(t, path)
	defer j.Close()
	if left := j.Left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestUndoneStepsAreDone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "undo")
	j := open(t, path)
	count := filepath.Join(dir, "count")
	undo := must(t)(j.Running("sh", "-c", "echo x >> "+count))
	for range 2 {
		if err := undo(); err != nil {
			t.Fatal(err)
		}
	}
	if undone, err := j.Undo(); err != nil || len(undone) != 0 {
		t.Errorf("%v %v", undone, err)
	}
	if b, _ := os.ReadFile(count); string(b) != "x\n" {
		t.Errorf("ran %q", b)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Size() != 0 {
		t.Errorf("an empty journal: %v %v", fi, err)
	}
}

// A step that can't be undone stays, is named, and keeps no other from it.
func TestAStepThatFailsStays(t *testing.T) {
	dir := t.TempDir()
	j := open(t, filepath.Join(dir, "undo"))
	defer j.Close()
	ok := must(t)
	made := filepath.Join(dir, "made")
	ok(j.Removing(made))
	ok(j.Running("sh", "-c", "echo busy >&2; exit 3"))
	if err := os.Mkdir(made, 0o755); err != nil {
		t.Fatal(err)
	}
	undone, err := j.Undo()
	if err == nil || !strings.Contains(err.Error(), "exit status 3: busy") || len(undone) != 1 {
		t.Errorf("%v %v", undone, err)
	}
	if left := j.Left(); len(left) != 1 || left[0].Run == nil {
		t.Errorf("left: %v", left)
	}
}

// Neither a process of the same id nor a setting of another boot is touched.
func TestOthersAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	j := open(t, filepath.Join(dir, "undo"))
	defer j.Close()
	leader, child := family(t)
	start, _, err := stat(leader.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	setting := filepath.Join(dir, "setting")
	if err := os.WriteFile(setting, []byte("now"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Step{
		{Kill: &Process{PID: leader.Process.Pid, Start: start - 1, Boot: j.boot}},
		{Kill: &Process{PID: leader.Process.Pid, Start: start, Boot: "another"}},
		{Write: &Setting{Path: setting, Value: "then", Boot: "another"}},
	} {
		if _, err := j.add(s); err != nil {
			t.Fatal(err)
		}
	}
	if undone, err := j.Undo(); err != nil || len(undone) != 3 {
		t.Fatalf("%v %v", undone, err)
	}
	if b, _ := os.ReadFile(setting); string(b) != "now" || !alive(leader.Process.Pid) || !alive(child) {
		t.Errorf("setting %q, leader %v, child %v", b, alive(leader.Process.Pid), alive(child))
	}
}
