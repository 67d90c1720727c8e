package collector

// Prepare makes a sampler ready for Take, as Run does.
func (s *Sampler) Prepare() error { return s.prepare() }
