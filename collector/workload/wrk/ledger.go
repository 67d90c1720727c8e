package wrk

// counts are answers.
type counts struct {
	good, bad int64 // bad: status 400 and above
}

func (c *counts) add(d counts) {
	c.good += d.good
	c.bad += d.bad
}

// span is a row to be: the answers between two moments of the boot time clock.
type span struct {
	begin, end int64
	counts
}

// ledger makes contiguous rows of what threads report, interval by interval. Intervals
// stand fixed on the boot time clock. A thread reports one when its first answer after
// it comes, so that while none comes there is no report: a row is made when every thread
// is past it, and at the latest by close.
type ledger struct {
	origin, step int64 // interval k ends at origin + (k+1)*step
	emit         func(span)

	open    bool
	threads map[[2]int]int64 // process and thread: the interval that it is in
	reports map[int64]counts // of intervals that are in no row yet
	next    int64            // the interval that the next row ends with
	begin   int64            // of the next row
	pending counts           // in it so far
	held    *span            // the last row, which a short rest joins
}

// at returns the interval that a moment lies in.
func (l *ledger) at(ns int64) int64 {
	k := (ns - l.origin) / l.step
	if (ns-l.origin)%l.step < 0 {
		k--
	}
	return k
}

// join adds a thread, which begins at a moment.
func (l *ledger) join(thread [2]int, ns int64) {
	if l.threads == nil {
		l.threads, l.reports = map[[2]int]int64{}, map[int64]counts{}
	}
	l.threads[thread] = l.at(ns)
}

// start begins the first row, once all threads have joined.
func (l *ledger) start(ns int64) {
	l.begin, l.next, l.open = ns, l.at(ns), true
	l.advance()
}

// report takes a thread's answers of an interval; it is in interval now next.
func (l *ledger) report(thread [2]int, slot int64, c counts, next int64) {
	sum := l.reports[slot]
	sum.add(c)
	l.reports[slot] = sum
	l.threads[thread] = next
	l.advance()
}

func (l *ledger) advance() {
	if !l.open {
		return
	}
	past := int64(1<<63 - 1)
	for _, slot := range l.threads {
		past = min(past, slot)
	}
	for ; l.next < past; l.next++ {
		l.take(l.next)
		end := l.origin + (l.next+1)*l.step
		if end-l.begin >= l.step/2 {
			l.row(end)
		}
	}
}

// take puts the reports up to an interval into the pending row: ones before it are of
// threads that had begun before all had.
func (l *ledger) take(slot int64) {
	for k, c := range l.reports {
		if k <= slot {
			l.pending.add(c)
			delete(l.reports, k)
		}
	}
}

func (l *ledger) row(end int64) {
	if l.held != nil {
		l.emit(*l.held)
	}
	l.held = &span{l.begin, end, l.pending}
	l.begin, l.pending = end, counts{}
}

// close makes the rows up to a moment at which nothing is counted any more, and returns
// the last one, which was not emitted; ok is false if there is none.
func (l *ledger) close(ns int64) (last span, ok bool) {
	if !l.open {
		return span{}, false
	}
	for ; l.origin+(l.next+1)*l.step <= ns; l.next++ {
		l.take(l.next)
		if end := l.origin + (l.next+1)*l.step; end-l.begin >= l.step/2 {
			l.row(end)
		}
	}
	l.take(1<<63 - 1)
	switch {
	case l.held != nil && ns-l.begin < l.step/2:
		l.held.end = max(ns, l.held.end)
		l.held.add(l.pending)
	case ns > l.begin:
		l.row(ns)
	}
	l.open = false
	if l.held == nil {
		return span{}, false
	}
	return *l.held, true
}
