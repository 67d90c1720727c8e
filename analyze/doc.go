// Package analyze turns benchmark measurements into judged results: the value of
// a run, the summary of a system, the comparison of two systems with its verdict,
// and how many runs a decision needs.
//
// It is pure: slices in, structs out. It reads no file and no clock, keeps no
// state, logs nothing, and leaves its inputs as they were. The same input gives
// the same output bit for bit.
//
// The run is the statistical unit: seconds of one run are not independent, so
// they are never pooled into a test. A run's value is formed on the natural scale
// over its window; logarithms are taken of run values, never of seconds.
//
// Misuse (slices of different length, a level outside (0, 1)) panics, as each
// function says. Poor data never does: what cannot be known is marked unknown (a
// Known field that is false, or a nil pointer) with a warning beside it. No result
// is ever NaN or infinite.
//
// The package does not read measurements, scale units or print.
package analyze
