package collector

import (
	"fmt"
	"time"

	"github.com/steadybench/steady/schemas"
)

// A reader is a source and what it is doing.
//
// Sources are read one after the other in the sampler's goroutine, which costs least. A
// reading that is slow (a file system that hangs, a device that resets) must not hold up
// the others: when one takes longer than slow, its goroutine loses the sampler to a new
// one, which goes on with the next source, and stays with its source alone. Such a
// source is apart: it has no values until the reading returns, which then goes with the
// next tick, under its own stamps; the reading after that begins when the tick is done.
// When quickAgain readings in a row were quick it is read among the others again.
type reader struct {
	source  Source
	first   int             // index of its first block in the tick
	blocks  []schemas.Block // its own: the tick has copies of the headers
	devices [][]string      // of its blocks, as last read
	failed  int64
	failing bool
	skipped bool
	apart   bool
	quick   int // readings in a row, while apart

	// Guarded by the sampler's mu:
	began  int64         // the last reading, by the boot time clock
	took   int64         // it
	err    error         // of it
	done   bool          // it has returned, and is not in a tick yet
	begin  chan struct{} // tells the goroutine of one that is apart to read again
	inside bool          // it is being read
}

// quickAgain is how many quick readings in a row end a source's being apart.
const quickAgain = 10

// slow is how long a reading may take among the others.
func (s *Sampler) slow() time.Duration { return max(s.Interval/10, 20*time.Millisecond) }

// read reads a source. It reports whether the sampler is this goroutine's still.
func (s *Sampler) read(r *reader, began int64) (mine bool) {
	s.mu.Lock()
	r.began, r.inside = began, true
	s.reading = r
	s.mu.Unlock()
	err := r.source.Sample(r.blocks)
	_, ended := s.Clock()
	s.mu.Lock()
	defer s.mu.Unlock()
	r.returned(ended, err)
	mine = s.reading == r
	if mine {
		s.reading = nil
	}
	return mine
}

func (r *reader) returned(ended int64, err error) {
	r.took, r.err, r.done, r.inside = ended-r.began, err, true, false
}

// overdue is called when a tick has taken a while: if it is a source that takes so long,
// another goroutine takes over the sampler.
func (s *Sampler) overdue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ticking {
		return
	}
	rest := s.slow()
	r := s.reading
	if r != nil {
		_, now := s.Clock()
		rest -= time.Duration(now - r.began)
	}
	if rest > 0 {
		s.watch.Reset(rest)
		return
	}
	s.reading = nil
	r.begin = make(chan struct{}, 1)
	s.watch.Reset(s.slow())
	go s.work(r)
}

// serve reads a source that is apart, each time that it is told to.
func (s *Sampler) serve(r *reader) {
	s.mu.Lock()
	begin := r.begin
	s.mu.Unlock()
	for {
		select {
		case _, ok := <-begin:
			if !ok {
				return
			}
		case <-s.quit:
			return
		}
		err := r.source.Sample(r.blocks)
		_, ended := s.Clock()
		s.mu.Lock()
		r.returned(ended, err)
		s.mu.Unlock()
	}
}

// setApart is called by the goroutine that takes over the sampler from a slow source.
func (s *Sampler) setApart(r *reader) {
	r.apart, r.quick = true, 0
	s.Warn(fmt.Errorf("collector: %s: a reading takes longer than %s: it is read apart from the others, and is in no tick until it returns", r.source.Name(), s.slow()))
}

// takeApart puts the reading of a source that is apart into the tick, if it has
// returned.
func (s *Sampler) takeApart(i int, r *reader, wall, boot int64) {
	s.mu.Lock()
	done := r.done
	r.done = false
	ago := boot - r.began
	s.mu.Unlock()
	if done {
		s.take(i, r, wall, boot)
		if r.quick++; r.took >= s.slow().Nanoseconds() {
			r.quick = 0
		}
		return
	}
	for j, t := range r.source.Tables() {
		s.tick.Blocks[r.first+j] = schemas.Block{Table: t, Devices: r.devices[j], Gap: true}
		s.note(wall, boot, "failed", t.Name, fmt.Sprintf("the reading that began %.3f s before has not returned", float64(ago)/1e9))
	}
}

// readAgain makes the sources that are apart begin their next reading, or come back.
func (s *Sampler) readAgain() {
	for _, r := range s.readers {
		if !r.apart {
			continue
		}
		if r.quick >= quickAgain {
			r.apart = false
			close(r.begin)
			s.Warn(fmt.Errorf("collector: %s: is read among the others again", r.source.Name()))
			continue
		}
		_, now := s.Clock()
		s.mu.Lock()
		if !r.inside {
			r.began, r.inside = now, true
			r.begin <- struct{}{}
		}
		s.mu.Unlock()
	}
}
