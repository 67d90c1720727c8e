package bus

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/schemas"
)

// Environment of the process that is killed.
const (
	childURL   = "BUS_TEST_URL"
	childDir   = "BUS_TEST_DIR"
	childRun   = "BUS_TEST_RUN"
	childEpoch = "BUS_TEST_EPOCH"
	childTicks = "BUS_TEST_TICKS"       // 0: until it is killed
	childKill  = "BUS_TEST_KILL_BEFORE" // number of the log's step, from 1; 0: none
	childLimit = "BUS_TEST_LIMIT"
	childCount = "BUS_TEST_COUNT" // the file in which it counts
)

func TestMain(m *testing.M) {
	if os.Getenv(childURL) != "" {
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// counts is what a child did, in memory that outlives it.
type counts struct{ sampled, taken, refused atomic.Int64 }

// shared maps a file's counts, one an epoch.
func shared(path string) (*[64]counts, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int(unsafe.Sizeof([64]counts{}))
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*[64]counts)(unsafe.Pointer(&b[0])), nil
}

func number(name string) int64 {
	n, _ := strconv.ParseInt(os.Getenv(name), 10, 64)
	return n
}

// child is a producer that takes a tick a millisecond.
func child() error {
	all, err := shared(os.Getenv(childCount))
	if err != nil {
		return err
	}
	epoch, ticks := number(childEpoch), number(childTicks)
	count := &all[epoch]
	steps := int64(0)
	log, err := OpenLog(os.Getenv(childDir), LogOptions{Bytes: number(childLimit), Step: func(string) {
		if steps++; steps == number(childKill) {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	if err != nil {
		return err
	}
	conn, err := Connect(os.Getenv(childURL), "child", true)
	if err != nil {
		return err
	}
	defer conn.Close()
	p := NewPublisher(conn, ofEpoch(epoch, os.Getenv(childRun)), PublisherOptions{Log: log})
	say := func(c *schemas.Control) {
		if err == nil {
			err = p.Control(c)
		}
	}
	say(openOf(epoch))
	say(helloOf(epoch, epoch))
	if err == nil {
		err = p.EndKilled()
	}
	if err != nil {
		return err
	}
	pace := time.NewTicker(time.Millisecond)
	for seq := int64(1); ticks == 0 || seq <= ticks; seq++ {
		x := tick(seq, 10)
		count.sampled.Store(seq)
		if p.Tick(x) == nil {
			count.taken.Add(1)
		} else {
			count.refused.Add(1)
		}
		<-pace.C
	}
	say(&schemas.Control{Kind: "end", At: at(1e9 * epoch), End: &schemas.End{Epoch: epoch, LastSeq: ticks}})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if e := p.Close(ctx); err == nil {
		err = e
	}
	return err
}

// killed are the children of a test, one after the other, on one log.
type killed struct {
	*line
	log, count, run string
	limit           int // of the log
	counts          *[64]counts
	epoch           int64
}

func (l *line) children(run string, limit int) *killed {
	l.Helper()
	k := &killed{line: l, log: l.TempDir(), count: filepath.Join(l.TempDir(), "counts"), run: run, limit: limit}
	var err error
	k.counts, err = shared(k.count)
	l.must(err)
	return k
}

// start starts the next child.
func (k *killed) start(ticks, killBefore int) *exec.Cmd {
	k.Helper()
	k.epoch++
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childURL+"=nats://127.0.0.1:"+strconv.Itoa(k.port), childDir+"="+k.log, childRun+"="+k.run,
		childEpoch+"="+strconv.FormatInt(k.epoch, 10), childTicks+"="+strconv.Itoa(ticks), childKill+"="+strconv.Itoa(killBefore), childLimit+"="+strconv.Itoa(k.limit), childCount+"="+k.count)
	cmd.Stderr = os.Stderr
	k.must(cmd.Start())
	return cmd
}

// ended waits for a child and reports whether it was killed.
func (k *killed) ended(cmd *exec.Cmd) bool {
	k.Helper()
	err := cmd.Wait()
	if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	k.must(err)
	return false
}

// check compares what is in the stream with what the children counted: of each all that
// it took is there, once, but for the last few that it could not write before it was
// killed, and those come after the last that is said of it. It returns their sum.
func (k *killed) check() (delivered, lost int64) {
	k.Helper()
	seen, last, hellos := map[string]int{}, map[int64]int64{}, map[int64]int{}
	for _, word := range k.story(k.run) {
		seen[word]++
		var epoch, seq int64
		switch {
		case strings.HasPrefix(word, "hello"):
			fmt.Sscanf(word, "hello %d", &epoch)
			hellos[epoch]++
		case strings.HasPrefix(word, "cut"):
			fmt.Sscanf(word, "cut %d %d", &epoch, &seq)
			last[epoch] = seq
		case strings.HasPrefix(word, "end"):
			fmt.Sscanf(word, "end %d %d", &epoch, &seq)
			last[epoch] = seq
		}
	}
	for epoch := int64(1); epoch <= k.epoch; epoch++ {
		c := &k.counts[epoch]
		sampled, taken, refused := c.sampled.Load(), c.taken.Load(), c.refused.Load()
		n := int64(0)
		for seq := int64(1); seq <= sampled; seq++ {
			switch times := seen[fmt.Sprintf("%d/%d", epoch, seq)]; {
			case times > 1:
				k.Errorf("epoch %d: tick %d came %d times", epoch, seq, times)
			case times == 1:
				n++
			case seq <= last[epoch] && refused == 0:
				k.Errorf("epoch %d: tick %d did not come, and the last is said to be %d", epoch, seq, last[epoch])
			}
		}
		if _, told := last[epoch]; sampled > 0 && !told && hellos[epoch] > 0 {
			k.Errorf("epoch %d: nobody said its end", epoch)
		}
		if hellos[epoch] > 1 {
			k.Errorf("epoch %d: hello came %d times", epoch, hellos[epoch])
		}
		delivered, lost = delivered+n, lost+max(taken-n, 0)
	}
	return delivered, lost
}

// Killed before every single creation, write, sync and removal in its log, with a server
// that comes and goes, a producer loses nothing that it took and wrote.
func TestKilledProducerBeforeEveryStep(t *testing.T) {
	l := newLine(t)
	var delivered, lost int64
	kills := 0
	for step, more := 1, true; more; step++ {
		k := l.children(fmt.Sprint("STEP", step), 1<<20)
		away := step%2 == 1
		if away {
			l.srv.Close()
		}
		first := k.start(60, step)
		if away { // if it is not killed it ends by itself, and can't deliver
			first.Wait()
			more = first.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		} else {
			more = k.ended(first)
		}
		if more {
			kills++
		}
		if away {
			l.serve()
			l.until("connected", l.conn.Connected)
		}
		if k.ended(k.start(5, 0)) {
			t.Fatal("killed by itself")
		}
		d, m := k.check()
		delivered, lost = delivered+d, lost+m
		if left, _ := filepath.Glob(filepath.Join(k.log, "*.wal1")); len(left) > 0 {
			t.Errorf("step %d: left %q", step, left)
		}
		if t.Failed() {
			t.Fatalf("killed before step %d", step)
		}
		if step > 400 {
			t.Fatal("no end")
		}
	}
	t.Logf("%d kills: %d ticks delivered, %d lost in memory, each time the last", kills, delivered, lost)
}

// Twenty kills at random moments of one outage, and at last one that ends well. What was
// sampled is stored, refused and counted since the log was full, or was lost in memory.
func TestKilledProducerAtRandomInAnOutage(t *testing.T) {
	for _, limit := range []int{DefaultLogBytes, 1 << 20} {
		t.Run(fmt.Sprint(limit, " bytes"), func(t *testing.T) {
			l := newLine(t)
			k := l.children("RANDOM", limit)
			r := rand.New(rand.NewPCG(20, 26))
			l.srv.Close()
			for range 20 {
				cmd := k.start(0, 0)
				until := 1 + r.Int64N(60)
				l.until("some ticks", func() bool { return k.counts[k.epoch].sampled.Load() >= until })
				cmd.Process.Signal(syscall.SIGKILL)
				if !k.ended(cmd) {
					t.Fatal("not killed")
				}
			}
			l.serve()
			l.until("connected", l.conn.Connected)
			if k.ended(k.start(50, 0)) {
				t.Fatal("killed by itself")
			}
			stored, lost := k.check()
			var sampled, refused int64
			for i := range k.counts {
				sampled += k.counts[i].sampled.Load()
				refused += k.counts[i].refused.Load()
			}
			t.Logf("21 producers, 20 killed: %d ticks sampled, %d stored, %d refused, %d lost in memory, none doubled", sampled, stored, refused, lost)
			// Between counting a tick and taking it, one may be killed too.
			if rest := sampled - stored - refused - lost; lost > 20*5 || rest < 0 || rest > 20 || (refused > 0) != (limit == 1<<20) {
				t.Errorf("%d of %d unaccounted for", rest, sampled)
			}
			cuts := 0
			for _, word := range l.story("RANDOM") {
				if strings.HasPrefix(word, "cut") {
					cuts++
				}
			}
			if cuts < 15 || cuts > 20 {
				t.Errorf("%d producers had their end said by another", cuts)
			}
		})
	}
}
