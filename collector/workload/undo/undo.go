// Package undo keeps a journal of what a run changes on its host and must not outlive
// it: processes, directories, kernel settings, things that a command removes. A step is
// written down, durably, before it is done. When the run ends, and if it was killed at
// the next start, what is in the journal is undone, last first.
package undo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Step is something to be undone. Exactly one of Remove, Kill, Write and Run is set.
type Step struct {
	ID int64 `json:"id"`
	// Remove is a file or directory that is removed with all that is in it.
	Remove string `json:"remove,omitempty"`
	// Kill is a process, killed with its group if it is still the one that was started.
	Kill *Process `json:"kill,omitempty"`
	// Write is a kernel setting that is written back.
	Write *Setting `json:"write,omitempty"`
	// Run is a command that removes something; that it isn't there (any more) must be no
	// error of the command.
	Run []string `json:"run,omitempty"`
}

// Process is a process, told from a later one of the same id by its start.
type Process struct {
	PID int `json:"pid"`
	// Start is its starttime, in clock ticks since the boot (proc_pid_stat(5)).
	Start uint64 `json:"start"`
	// Boot is the boot that it runs in.
	Boot string `json:"boot"`
}

// Setting is a file below /proc/sys or /sys and what was in it. It holds for one boot.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	Boot  string `json:"boot"`
}

// line is a line of the journal: a step, or the id of one that is undone.
type line struct {
	*Step
	Done int64 `json:"done,omitempty"`
}

// runTime bounds a command that undoes something.
const runTime = 30 * time.Second

// Journal is a file of steps. Its methods may be called concurrently.
type Journal struct {
	mu    sync.Mutex
	f     *os.File
	steps []Step // not undone yet, oldest first
	last  int64
	boot  string
}

// Open opens a journal, made if it is not there. Only one process may have it open.
// What an earlier process left in it is undone by Undo. A last line that was cut off by
// a crash is passed over: its step was not begun.
func Open(path string) (*Journal, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, fmt.Errorf("undo: boot id: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("undo: %s: another steady runs with this data directory: end it, or choose another with --data", path)
	}
	j := &Journal{f: f, boot: strings.TrimSpace(string(boot))}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var l line
		if json.Unmarshal(in.Bytes(), &l) != nil {
			continue
		}
		if l.Step != nil {
			j.steps = append(j.steps, *l.Step)
			j.last = max(j.last, l.Step.ID)
		}
		j.forget(l.Done)
	}
	if err := in.Err(); err != nil {
		f.Close()
		return nil, fmt.Errorf("undo: %s: %w", path, err)
	}
	// What was cut off must not run into the next line.
	if _, err := f.WriteString("\n"); err != nil {
		f.Close()
		return nil, fmt.Errorf("undo: %w", err)
	}
	return j, nil
}

// Close closes the journal; steps that are not undone stay in it. An empty one is
// emptied.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if len(j.steps) == 0 {
		err = j.f.Truncate(0)
	}
	return errors.Join(err, j.f.Close())
}

// Left returns the steps that are not undone, oldest first.
func (j *Journal) Left() []Step {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.steps)
}

// Removing notes that path is to be removed, before it is made, and returns what does so.
func (j *Journal) Removing(path string) (undo func() error, err error) {
	return j.add(Step{Remove: path})
}

// Killing notes a process that was just started, and returns what kills it. (Between its
// start and its note it dies with this process: see workload.Command.)
func (j *Journal) Killing(pid int) (undo func() error, err error) {
	start, _, err := stat(pid)
	if err != nil {
		return nil, fmt.Errorf("undo: process %d: %w", pid, err)
	}
	return j.add(Step{Kill: &Process{PID: pid, Start: start, Boot: j.boot}})
}

// Running notes a command that removes something, before that is made, and returns what
// runs it.
func (j *Journal) Running(command ...string) (undo func() error, err error) {
	return j.add(Step{Run: command})
}

// Set notes what is in a kernel setting, writes value, and returns what writes the old
// one back.
func (j *Journal) Set(path, value string) (undo func() error, err error) {
	old, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	undo, err = j.add(Step{Write: &Setting{Path: path, Value: strings.TrimSuffix(string(old), "\n"), Boot: j.boot}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("undo: set %s to %q: %w", path, value, err), undo())
	}
	return undo, nil
}

func (j *Journal) add(s Step) (func() error, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	s.ID = j.last
	if err := j.write(line{Step: &s}); err != nil {
		return nil, err
	}
	j.steps = append(j.steps, s)
	return func() error { return j.undo(s) }, nil
}

func (j *Journal) write(l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	if _, err := j.f.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	if err := j.f.Sync(); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	return nil
}

func (j *Journal) forget(id int64) {
	j.steps = slices.DeleteFunc(j.steps, func(s Step) bool { return s.ID == id })
}

// Undo undoes all that is left, last first, and returns what it undid. A step that
// fails stays in the journal, and the others go on.
func (j *Journal) Undo() (undone []Step, err error) {
	left := j.Left()
	for _, s := range slices.Backward(left) {
		if e := j.undo(s); e != nil {
			err = errors.Join(err, e)
		} else {
			undone = append(undone, s)
		}
	}
	return undone, err
}

func (j *Journal) undo(s Step) error {
	j.mu.Lock()
	there := slices.ContainsFunc(j.steps, func(x Step) bool { return x.ID == s.ID })
	j.mu.Unlock()
	if !there {
		return nil // undone before
	}
	if err := s.undo(j.boot); err != nil {
		return fmt.Errorf("undo: %s: %w", s, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget(s.ID)
	return j.write(line{Done: s.ID})
}

func (s Step) String() string {
	switch {
	case s.Remove != "":
		return "remove " + s.Remove
	case s.Kill != nil:
		return fmt.Sprintf("kill process %d", s.Kill.PID)
	case s.Write != nil:
		return fmt.Sprintf("set %s to %q", s.Write.Path, s.Write.Value)
	}
	return strings.Join(s.Run, " ")
}

func (s Step) undo(boot string) error {
	switch {
	case s.Remove != "":
		return os.RemoveAll(s.Remove)
	case s.Kill != nil:
		return s.Kill.kill(boot)
	case s.Write != nil:
		if s.Write.Boot != boot {
			return nil // settings don't outlive a boot
		}
		return os.WriteFile(s.Write.Path, []byte(s.Write.Value), 0)
	case len(s.Run) > 0:
		return run(s.Run)
	}
	return nil
}

func run(command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	timer := time.AfterFunc(runTime, func() { cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(out.String()))
	}
	return nil
}

// kill kills what is left of the process's group. Its leader may be gone; a member of a
// later group of the same id is told by having started before it.
func (p *Process) kill(boot string) error {
	if p.Boot != boot {
		return nil
	}
	if start, _, err := stat(p.PID); err == nil && start != p.Start {
		return nil // the id is another's: the group is gone
	}
	for {
		pids, err := p.members()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("process %d: %w", pid, err)
			}
		}
		// They may have forked meanwhile; those that died are zombies or gone.
		time.Sleep(10 * time.Millisecond)
	}
}

// members returns the live processes of the group.
func (p *Process) members() (pids []int, err error) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		start, group, err := stat(pid)
		if err == nil && group == p.PID && start >= p.Start {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// stat returns a live process's starttime and group: fields 22 and 5 of stat, counted
// from behind the name, which may hold anything. A zombie is none.
func stat(pid int) (start uint64, group int, err error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return 0, 0, fs.ErrNotExist
	}
	if group, err = strconv.Atoi(fields[2]); err != nil {
		return 0, 0, err
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return start, group, err
}
