package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/steadybench/steady/bus"
	"github.com/steadybench/steady/campaign"
	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

// collectFlags name a run that has no controller.
type collectFlags struct {
	experiment, system, scenario string
	number, hosts                int
	host                         string
	roles                        []string
	interval, duration           time.Duration
	pending                      int64
	wal                          string
	walBytes                     int64
	deliver                      bool
	sources                      sourceFlags
	batch                        int
	profile, class               string
}

func (a *app) collect() *cobra.Command {
	var f collectFlags
	var n natsFlags
	c := &cobra.Command{
		Use:   "collect --experiment E --system S --scenario C",
		Short: "this host's samples to NATS, once a second",
		Long: `Samples this host and publishes each tick to the nats-server at --nats, where steady
ingest makes a run folder of it. Hosts that give the same names and --run-number
collect into the same run; it is over when --hosts hosts have ended. A collector that
is started again joins the run it was in.

What the server has not acknowledged is kept in the directory --wal, so that neither a
server that is away nor a killed collector costs a tick, and a power cut at most those
of the last second: the next steady collect on the directory delivers what is in it,
of other runs too; --deliver does that and nothing else. Without --wal the directory
is wal in $STATE_DIRECTORY (of systemd), else in steady in $XDG_STATE_HOME, else in
/var/lib/steady (root) or ~/.local/state/steady. A second collector on a host needs one
of its own; --wal none keeps all in memory.

On a busy host it keeps its second by --class: real-time of the lowest priority where
it may (CAP_SYS_NICE), else nice -10, else as it was started; the manifest says which.

--profile lean costs about a quarter less: only the tables that verdicts are formed of,
sent ten ticks at a time (--batch says otherwise), of which a power cut may cost those
that wait.`,
		Args: args(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if f.profile == "lean" && !c.Flags().Changed("batch") {
				f.batch = leanBatch
			}
			return a.runCollect(c.Context(), n, f)
		},
	}
	n.add(c, false)
	fl := c.Flags()
	fl.StringVar(&f.experiment, "experiment", "", "the comparison that the run belongs to")
	fl.StringVar(&f.system, "system", "", "the variant under test")
	fl.StringVar(&f.scenario, "scenario", "", "the workload with its parameters, as a name")
	fl.IntVar(&f.number, "run-number", 1, "which repetition it is")
	fl.IntVar(&f.hosts, "hosts", 1, "how many hosts take part")
	fl.StringVar(&f.host, "host", "", "this host's name (default: its host name)")
	fl.StringSliceVar(&f.roles, "role", []string{"sut"}, "sut, load or both")
	fl.DurationVar(&f.interval, "interval", time.Second, "time between ticks")
	fl.DurationVar(&f.duration, "duration", 0, "how long (default: until SIGINT)")
	fl.StringVar(&f.wal, "wal", "", "directory of the write-ahead log, or none (default: see above)")
	fl.Int64Var(&f.walBytes, "wal-bytes", bus.DefaultLogBytes, "limit of the write-ahead log; a full one refuses ticks, and counts them")
	fl.Int64Var(&f.pending, "pending-bytes", bus.DefaultPending, "limit of the memory for ticks that the server has not acknowledged, with --wal none")
	fl.StringVar(&f.profile, "profile", "full", "full or lean: see above")
	fl.StringVar(&f.class, "class", "auto", "how it is scheduled beside the host's work: "+strings.Join(classes, ", "))
	fl.IntVar(&f.batch, "batch", 1, "ticks sent at a time: a live view is late by so many, the host is woken less")
	f.sources.add(fl)
	fl.BoolVar(&f.deliver, "deliver", false, "take no samples, only deliver what --wal has, and end")
	return c
}

func (f *collectFlags) check() error {
	for _, r := range f.roles {
		if r != "sut" && r != "load" {
			return usage("--role %q: want sut or load", r)
		}
	}
	switch {
	case f.interval < 10*time.Millisecond:
		return usage("--interval %s: the shortest is 10ms", f.interval)
	case f.number < 1 || f.number > 9999:
		return usage("--run-number %d: want 1 to 9999", f.number)
	case f.hosts < 1:
		return usage("--hosts %d: want 1 or more", f.hosts)
	case f.profile != "full" && f.profile != "lean":
		return usage("--profile %q: want full or lean", f.profile)
	case !slices.Contains(classes, f.class):
		return usage("--class %q: want %s", f.class, strings.Join(classes, ", "))
	case f.batch < 1 || f.batch > 1000:
		return usage("--batch %d: want 1 to 1000", f.batch)
	case f.walBytes < 1<<20:
		return usage("--wal-bytes %d: want 1048576 or more", f.walBytes)
	}
	if err := errors.Join(schemas.CheckName("--experiment", f.experiment), schemas.CheckName("--system", f.system), schemas.CheckName("--scenario", f.scenario)); err != nil {
		return usage("%w", err)
	}
	return nil
}

// thisHost returns what campaign must know of this host.
func thisHost(name string, roles []string, f sourceFlags) (campaign.Host, error) {
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			return campaign.Host{}, fmt.Errorf("host name: %w: give one with --host", err)
		}
	}
	id, err := collector.BootID()
	if err != nil {
		return campaign.Host{}, err
	}
	return campaign.Host{Name: name, Roles: roles, BootID: id, Facts: campaign.Facts(),
		Sources: f.open}, nil
}

// leanBatch is how many ticks are sent at a time in the lean profile.
const leanBatch = 10

// leanTables are those that verdicts are formed of.
var leanTables = []*schemas.Table{&schemas.CPU, &schemas.Load, &schemas.Memory, &schemas.Disk, &schemas.Net, &schemas.Paging, &schemas.Pressure}

// leanSources closes and leaves out the sources of other tables, and says so in absent.
func leanSources(sources []collector.Source, absent map[string]string) []collector.Source {
	return slices.DeleteFunc(sources, func(s collector.Source) bool {
		if slices.ContainsFunc(s.Tables(), func(t *schemas.Table) bool { return slices.Contains(leanTables, t) }) {
			return false
		}
		absent[s.Name()] = "left out by --profile lean"
		s.Close()
		return true
	})
}

// noWAL as --wal keeps all in memory.
const noWAL = "none"

// openLog opens the write-ahead log; nil: there shall be none.
func (a *app) openLog(f collectFlags) (*bus.Log, error) {
	if f.wal == noWAL {
		return nil, nil
	}
	dir := f.wal
	if dir == "" {
		var err error
		if dir, err = stateDir(); err != nil {
			return nil, err
		}
		dir = filepath.Join(dir, "wal")
	}
	log, err := bus.OpenLog(dir, bus.LogOptions{Bytes: f.walBytes, Warn: a.warn})
	if err != nil {
		return nil, err
	}
	if n, bytes := log.Left(); n > 0 {
		a.say("collect: delivering %d messages (%d bytes) that an earlier collector left in %s", n, bytes, dir)
	}
	return log, nil
}

// stateDir returns where steady keeps what must outlive it on this host.
func stateDir() (string, error) {
	if d, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":"); d != "" {
		return d, nil
	}
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "steady"), nil
	}
	if os.Geteuid() == 0 {
		return "/var/lib/steady", nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("write-ahead log: %w: choose a directory with --wal, or none", err)
	}
	return filepath.Join(home, ".local", "state", "steady"), nil
}

// runDeliver delivers what the log has.
func (a *app) runDeliver(ctx context.Context, n natsFlags, f collectFlags) error {
	if f.wal == noWAL {
		return usage("collect: --deliver needs a directory as --wal")
	}
	log, err := a.openLog(f)
	if err != nil {
		return err
	}
	messages, _ := log.Left()
	conn, err := bus.Connect(n.url, "steady collect", true)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	defer conn.Close()
	pub := bus.NewPublisher(conn, schemas.Producer{}, bus.PublisherOptions{Log: log, Warn: a.warn})
	if err := errors.Join(pub.EndKilled(), pub.Close(ctx)); err != nil {
		return err
	}
	a.say("collect: delivered %d messages", messages)
	return nil
}

func (a *app) runCollect(ctx context.Context, n natsFlags, f collectFlags) (err error) {
	if !f.deliver {
		if err := f.check(); err != nil {
			return err
		}
	}
	if n.url == "" {
		return usage("collect: --nats is missing: where is the nats-server?")
	}
	if f.deliver {
		return a.runDeliver(ctx, n, f)
	}
	class, err := a.lean(f.interval, f.class)
	if err != nil {
		return err
	}
	host, err := thisHost(f.host, f.roles, f.sources)
	if err != nil {
		return err
	}
	host.Facts["collector.class"], host.Facts["collector.profile"] = class, f.profile
	sources, absent, err := host.Sources(nil)
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range sources {
			s.Close()
		}
	}()
	a.sayAbsent(absent)
	if f.profile == "lean" {
		sources = leanSources(sources, absent)
	}
	log, err := a.openLog(f)
	if err != nil {
		return err
	}
	conn, err := bus.Connect(n.url, "steady collect "+host.Name, true)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	defer conn.Close()

	id := schemas.Producer{Run: campaign.SharedRunID(f.experiment, f.system, f.scenario, f.number), Host: host.Name, Epoch: schemas.NewEpoch(), BootID: host.BootID}
	since, logBytes := a.succeed(log, id)
	pub := bus.NewPublisher(conn, id, bus.PublisherOptions{Log: log, Pending: f.pending, Batch: f.batch, Warn: a.warn})
	stamp := func() schemas.Stamp {
		wall, boot := collector.Now()
		return schemas.Stamp{Host: host.Name, WallNS: wall, BootNS: boot, BootID: host.BootID}
	}
	start := stamp()
	err = errors.Join(
		pub.Control(&schemas.Control{Kind: "open", At: start, Open: &schemas.Open{Experiment: f.experiment, System: f.system,
			Scenario: f.scenario, Run: f.number, Slot: -1, Hosts: f.hosts}}),
		pub.Control(&schemas.Control{Kind: "hello", At: start, Hello: &schemas.Hello{Epoch: id.Epoch, Kind: "collector", Roles: f.roles,
			IntervalNS: f.interval.Nanoseconds(), Facts: host.Facts, Absent: absent}}),
		pub.EndKilled())
	if err != nil {
		return err
	}
	a.say("collect: run %s of %s on %s, a tick each %s%s, scheduled as %s", id.Run, strings.Join([]string{f.experiment, f.system, f.scenario, fmt.Sprintf("%02d", f.number)}, "/"), host.Name, f.interval, until(f.duration), class)
	s := &collector.Sampler{Interval: f.interval, StartBootNS: start.BootNS, Sources: sources, Sink: pub, Warn: a.warn,
		Since: since, UnackedBytes: pub.UnackedBytes, LogBytes: logBytes}
	if f.duration > 0 {
		s.Ticks = int64(f.duration/f.interval) + 1
	}
	defer time.AfterFunc(startTime, a.trim).Stop()
	account, err := s.Run(ctx)
	err = errors.Join(err, pub.Control(&schemas.Control{Kind: "end", At: stamp(), End: &schemas.End{Epoch: id.Epoch, LastSeq: account.LastSeq, Refused: account.Refused, Missed: account.Missed}}))
	wait := 30 * time.Second
	if ctx.Err() != nil {
		wait = 1200 * time.Millisecond
	}
	flush, cancel := shortly(ctx, wait)
	defer cancel()
	err = errors.Join(err, pub.Close(flush))
	a.say("collect: %d ticks, %d missed, %d late, %d refused, %d messages sent again", account.LastSeq, account.Missed, account.Late, count(account.Refused), pub.Resent())
	return err
}

// succeed returns what a sampler must know of the log: the boot time of the last tick of
// a killed collector whose run it joins, and the log's size.
func (a *app) succeed(log *bus.Log, id schemas.Producer) (since *int64, bytes func() int64) {
	if log == nil {
		return nil, nil
	}
	last, ok := log.LastTick(id.Run, id.Host)
	if !ok {
		return nil, log.Bytes
	}
	if last.BootID != id.BootID { // the host's clock began anew
		wall, boot := collector.Now()
		last.BootNS = boot - (wall - last.WallNS)
	}
	a.say("collect: joins the run of a collector that was killed: its last tick was at %s", time.Unix(0, last.WallNS).UTC().Format(time.RFC3339))
	return &last.BootNS, log.Bytes
}

func until(d time.Duration) string {
	if d == 0 {
		return " until SIGINT"
	}
	return " for " + d.String()
}

func count(r []schemas.Range) (n int64) {
	for _, x := range r {
		n += x.Last - x.First + 1
	}
	return n
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
