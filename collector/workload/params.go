package workload

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration written as 5m or 72h.
type Duration time.Duration

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (d *Duration) UnmarshalYAML(decode func(any) error) error {
	var s string
	if err := decode(&s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return fmt.Errorf("%q: want a time such as 5m or 90s", s)
	}
	*d = Duration(v)
	return nil
}

func (d Duration) String() string { return time.Duration(d).String() }

// CPUs is a list of CPU numbers written as 0-3,8.
type CPUs []int

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (c *CPUs) UnmarshalYAML(decode func(any) error) error {
	var s string
	if err := decode(&s); err != nil {
		return err
	}
	for _, part := range strings.Split(s, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.Atoi(from)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(to)
		}
		if err != nil || a < 0 || b < a || b > 8191 {
			return fmt.Errorf("%q: want CPUs such as 0-3,8", s)
		}
		for k := a; k <= b; k++ {
			if !slices.Contains(*c, k) {
				*c = append(*c, k)
			}
		}
	}
	slices.Sort(*c)
	return nil
}

// Secret returns what a parameter means that names a secret rather than saying it:
// "env:NAME" or "file:PATH". Anything else is returned as it is.
func Secret(v string) (string, error) {
	if name, ok := strings.CutPrefix(v, "env:"); ok {
		s, ok := os.LookupEnv(name)
		if !ok {
			return "", fmt.Errorf("secret: environment variable %s is not set", name)
		}
		return s, nil
	}
	if path, ok := strings.CutPrefix(v, "file:"); ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("secret: %w", err)
		}
		return strings.TrimRight(string(b), "\r\n"), nil
	}
	return v, nil
}
