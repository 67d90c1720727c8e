package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/steadybench/steady/schemas"
)

// manifest returns the run's manifest without its tables.
func (c *conversion) manifest(cause string) *schemas.Manifest {
	r, open := c.r, c.r.open()
	m := &schemas.Manifest{
		Schema: schemas.ManifestSchema, ID: r.id, Experiment: open.Experiment, System: open.System, Scenario: open.Scenario,
		Run: fmt.Sprintf("%02d", open.Run), Params: open.Params, Slot: open.Slot, Status: schemas.Complete, Reasons: []string{},
		DurationNS: c.lastNS,
		Phases:     c.phases(), Hosts: c.hosts(), Producers: []schemas.ProducerAccount{}, Tables: []schemas.TableFile{},
		Quality: map[string]int64{},
	}
	if c.start.WallNS != schemas.NoWall {
		start := time.Unix(0, c.start.WallNS).UTC()
		m.Start = &start
	}
	if m.Params == nil {
		m.Params = map[string]any{}
	}
	if n := len(r.parts); n > 0 {
		m.Stream = r.parts[n-1].Stream
	}
	because := func(format string, v ...any) {
		if m.Status == schemas.Complete {
			m.Status = schemas.Incomplete
		}
		m.Reasons = append(m.Reasons, fmt.Sprintf(format, v...))
	}
	if a := r.control("abort"); a != nil {
		m.Status = schemas.Failed
		m.Reasons = append(m.Reasons, "aborted: "+a.Cause)
	}
	if cause != "" {
		because("%s", cause)
	}
	if len(m.Hosts) < open.Hosts {
		because("%d of %d hosts took part", len(m.Hosts), open.Hosts)
	}
	m.Producers = c.producers()
	for _, p := range m.Producers {
		switch {
		case !p.Ended:
			because("%s %d on %s did not say its end: what it sampled after tick %d is unknown", p.Kind, p.Epoch, p.Host, lastReceived(r, p))
		case p.Cut && !r.superseded(p.Epoch):
			because("%s %d on %s was killed after tick %d and did not come back", p.Kind, p.Epoch, p.Host, *p.Expected)
		case len(p.Missing) > 0:
			because("%s %d on %s: %d of %d ticks are missing", p.Kind, p.Epoch, p.Host, ranges(p.Missing).count(), *p.Expected)
		}
	}
	for _, x := range r.refusals {
		because("message %d of the stream could not be read: %s", x.StreamSeq, x.Cause)
	}
	return m
}

func lastReceived(r *liveRun, p schemas.ProducerAccount) int64 {
	q := r.producers[producerKey{p.Host, p.Epoch}]
	if q == nil || len(q.received) == 0 {
		return 0
	}
	return q.received[len(q.received)-1].Last
}

// producers reconciles what was sampled with what came.
func (c *conversion) producers() []schemas.ProducerAccount {
	r := c.r
	accounts := map[producerKey]*schemas.ProducerAccount{}
	account := func(host string, epoch int64) *schemas.ProducerAccount {
		k := producerKey{host, epoch}
		if accounts[k] == nil {
			accounts[k] = &schemas.ProducerAccount{Host: host, Epoch: epoch, Kind: "producer", Missing: []schemas.Range{}, Refused: []schemas.Range{}}
		}
		return accounts[k]
	}
	for k, p := range r.producers {
		a := account(k.host, k.epoch)
		a.Received, a.Duplicates = p.received.count(), p.duplicates
	}
	for i := range r.controls {
		x := &r.controls[i]
		if x.Hello != nil {
			account(x.At.Host, x.Hello.Epoch).Kind = x.Hello.Kind
		}
		if x.End != nil {
			a := account(x.At.Host, x.End.Epoch)
			if x.End.Cut && a.Ended {
				continue // it was killed when it had said all
			}
			last := x.End.LastSeq
			a.Ended, a.Cut, a.Expected, a.Missed = true, x.End.Cut, &last, x.End.Missed
			a.Refused = append(a.Refused, x.End.Refused...)
		}
	}
	var out []schemas.ProducerAccount
	for k, a := range accounts {
		var got ranges
		if p := r.producers[k]; p != nil {
			got = p.received
		}
		last := int64(0)
		if a.Cut && len(got) > 0 { // the server may have had more than its log knew of
			*a.Expected = max(*a.Expected, got[len(got)-1].Last)
		}
		if a.Ended {
			last = *a.Expected
		} else if len(got) > 0 {
			last = got[len(got)-1].Last
		}
		a.Missing = append(a.Missing, got.missing(last)...)
		out = append(out, *a)
	}
	slices.SortFunc(out, func(a, b schemas.ProducerAccount) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Epoch, b.Epoch))
	})
	return out
}

func (c *conversion) hosts() []schemas.Host {
	hosts := map[string]*schemas.Host{}
	host := func(name string) *schemas.Host {
		if hosts[name] == nil {
			hosts[name] = &schemas.Host{Host: name, Roles: []string{}, Facts: map[string]string{}, Absent: map[string]string{}, Boots: []schemas.Boot{}}
		}
		return hosts[name]
	}
	for i := range c.r.controls {
		x := &c.r.controls[i]
		if x.Hello == nil {
			continue
		}
		h := host(x.At.Host)
		for _, role := range x.Hello.Roles {
			if !slices.Contains(h.Roles, role) {
				h.Roles = append(h.Roles, role)
			}
		}
		for k, v := range x.Hello.Facts {
			h.Facts[k] = v
		}
		for k, v := range x.Hello.Absent {
			h.Absent[k] = v
		}
	}
	for k := range c.boots {
		host(k.host)
	}
	var out []schemas.Host
	for name, h := range hosts {
		slices.Sort(h.Roles)
		for k, o := range c.boots {
			if k.host == name {
				h.Boots = append(h.Boots, schemas.Boot{BootID: k.bootID, OriginNS: o.originNS, ByWall: o.byWall})
			}
		}
		slices.SortFunc(h.Boots, func(a, b schemas.Boot) int {
			return cmp.Compare(c.boots[bootKey{name, a.BootID}].index, c.boots[bootKey{name, b.BootID}].index)
		})
		out = append(out, *h)
	}
	slices.SortFunc(out, func(a, b schemas.Host) int { return cmp.Compare(a.Host, b.Host) })
	return out
}

// phases returns the run's phases: each ends where the next begins, the last with the
// run's close, or with its last row.
func (c *conversion) phases() []schemas.Phase {
	out := []schemas.Phase{}
	end := c.lastNS
	for i := range c.r.controls {
		switch x := &c.r.controls[i]; x.Kind {
		case "phase":
			out = append(out, schemas.Phase{Name: x.Phase, FromNS: c.elapsed(x.At)})
		case "close", "abort":
			end = c.elapsed(x.At)
		}
	}
	// A message sent again may have come after a later one.
	slices.SortStableFunc(out, func(a, b schemas.Phase) int { return cmp.Compare(a.FromNS, b.FromNS) })
	for i := range out {
		if i+1 < len(out) {
			out[i].ToNS = out[i+1].FromNS
		} else {
			out[i].ToNS = max(end, out[i].FromNS)
		}
	}
	return out
}

// account adds what only the converted tables tell.
func (c *conversion) account(m *schemas.Manifest) {
	rows := int64(0)
	for _, t := range m.Tables {
		if t.Table != schemas.Quality.Name {
			rows += t.Rows
		}
	}
	if rows == 0 {
		if m.Status == schemas.Complete {
			m.Status = schemas.Incomplete
		}
		m.Reasons = append(m.Reasons, "no rows came")
	}
	q := c.quality
	for i := range q.Rows() {
		reason := q.Column("reason").Texts[i]
		m.Quality[reason]++
		if reason == "late" {
			for j := range m.Producers {
				if p := &m.Producers[j]; p.Host == q[6].Texts[i] && p.Epoch == q[4].Ints[i] {
					p.Late++
				}
			}
		}
	}
}
