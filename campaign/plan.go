package campaign

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/steadybench/steady/collector/workload"
	"github.com/steadybench/steady/schemas"
)

// Plan is an experiment as plan.yaml says it (docs/PLAN.md).
type Plan struct {
	Experiment string   `yaml:"experiment"`
	Baseline   string   `yaml:"baseline"`
	Margin     Percent  `yaml:"margin"`
	Primary    []string `yaml:"primary"`
	Repeats    int      `yaml:"repeats"`
	// Duration is how long the load of a run goes on, Keep the last part, which counts.
	Duration workload.Duration `yaml:"duration"`
	Keep     workload.Duration `yaml:"keep"`
	Interval workload.Duration `yaml:"interval"`
	Pause    workload.Duration `yaml:"pause"`
	// Retries is how often a run that failed is done again.
	Retries   *int       `yaml:"retries"`
	Order     string     `yaml:"order"`
	Seed      *uint64    `yaml:"seed"`
	Sources   Watched    `yaml:"sources"`
	Placement Placement  `yaml:"placement"`
	Systems   []System   `yaml:"systems"`
	Scenarios []Scenario `yaml:"scenarios"`
}

// System is a variant under test.
type System struct {
	Name string `yaml:"name"`
	// Setup and Teardown are shell commands before and after each of its runs.
	Setup    []string `yaml:"setup"`
	Teardown []string `yaml:"teardown"`
	// Sysctl are kernel settings of its runs; what was set before comes back after each.
	Sysctl map[string]string `yaml:"sysctl"`
	// With are parameters of workloads that are another for this system, by workload.
	With map[string]map[string]any `yaml:"with"`
}

// Scenario is a workload with its parameters. A parameter with a list of values makes a
// scenario of each.
type Scenario struct {
	Name     string            `yaml:"name"`
	Workload string            `yaml:"workload"`
	With     map[string]any    `yaml:"with"`
	Repeats  int               `yaml:"repeats"`
	Duration workload.Duration `yaml:"duration"`
	Keep     workload.Duration `yaml:"keep"`
	Setup    []string          `yaml:"setup"`
	Teardown []string          `yaml:"teardown"`
}

// Watched are the sources beside those that are always read.
type Watched struct {
	Perf      []string `yaml:"perf"`
	Cgroups   []string `yaml:"cgroups"`
	Processes []string `yaml:"processes"`
}

// Placement says on which CPUs what runs, as lists such as "0-3,8"; empty is all. Where
// none is given and there are two CPUs or more, server and load get halves of them.
type Placement struct {
	Server    workload.CPUs `yaml:"server"`
	Load      workload.CPUs `yaml:"load"`
	Collector workload.CPUs `yaml:"collector"`
	// Free leaves all to the scheduler, and the figures to its moods.
	Free bool `yaml:"free"`
}

// Percent is a share written as 2%.
type Percent float64

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (p *Percent) UnmarshalYAML(decode func(any) error) error {
	var s string
	if err := decode(&s); err != nil {
		return err
	}
	digits, ok := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(v > 0 && v < 100) {
		return fmt.Errorf("%q: want percent above 0 and below 100, such as 2%%", s)
	}
	*p = Percent(v / 100)
	return nil
}

// Driver makes a workload of its parameters: decode fills a struct of the driver's with
// them, by its yaml tags; one that the struct lacks is an error.
type Driver func(decode func(any) error) (workload.Workload, error)

// Variant is a scenario with one value of each of its parameters, on one system.
type Variant struct {
	Scenario *Scenario
	System   *System
	Name     string // of the scenario in results
	Workload workload.Workload
}

// Item is a run to be done.
type Item struct {
	*Variant
	Repeat int // from 1
}

// Orders of runs.
const (
	OrderABBA   = "abba"   // the systems forth and back, so that a steady drift falls on all alike
	OrderRandom = "random" // the systems shuffled anew for each repeat
	OrderBlocks = "blocks" // all runs of a system, then all of the next
)

// ParsePlan reads a plan and makes its workloads. name stands in errors, which say the
// line and all that is wrong, not the first thing.
func ParsePlan(name string, text []byte, drivers map[string]Driver) (*Plan, []*Variant, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("plan: %s: %s", name, yamlError(err))
	}
	p := &Plan{}
	if err := yaml.UnmarshalWithOptions(text, p, yaml.Strict()); err != nil {
		return nil, nil, fmt.Errorf("plan: %s: %s", name, yamlError(err))
	}
	c := &planChecker{name: name, lines: map[string]int{}}
	for _, d := range file.Docs {
		c.walk("", d.Body)
	}
	variants := c.check(p, drivers)
	if len(c.errs) > 0 {
		return nil, nil, errors.Join(c.errs...)
	}
	return p, variants, nil
}

// yamlError returns an error of the YAML library as one line with its place.
func yamlError(err error) string {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		return strings.TrimSpace(strings.Split(err.Error(), "\n")[0])
	}
	return fmt.Sprintf("line %d: %s", e.GetToken().Position.Line, plainly(e.GetMessage()))
}

// plainly says a type that doesn't fit without the program's own names.
func plainly(message string) string {
	return typeRE.ReplaceAllString(message, "a $1 where $2 is wanted")
}

var typeRE = regexp.MustCompile(`cannot unmarshal (\w+) into Go (?:struct field \S+ of type|value of type) (\w+)`)

// planChecker collects what is wrong with a plan.
type planChecker struct {
	name  string
	lines map[string]int // by path: "scenarios[0].with.connections"
	errs  []error
}

func (c *planChecker) walk(path string, n ast.Node) {
	if n == nil {
		return
	}
	if t := n.GetToken(); t != nil && c.lines[path] == 0 {
		c.lines[path] = t.Position.Line
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			c.walk(path, v)
		}
	case *ast.MappingValueNode:
		key := n.Key.String()
		if path != "" {
			key = path + "." + key
		}
		c.lines[key] = n.Key.GetToken().Position.Line
		c.walk(key, n.Value)
	case *ast.SequenceNode:
		for i, v := range n.Values {
			c.walk(fmt.Sprintf("%s[%d]", path, i), v)
		}
	}
}

func (c *planChecker) say(path, format string, v ...any) {
	line := 0
	for p := path; line == 0; {
		line = c.lines[p]
		i := strings.LastIndexAny(p, ".[")
		if i < 0 {
			break
		}
		p = p[:i]
	}
	at := c.name
	if line > 0 {
		at = fmt.Sprintf("%s: line %d", c.name, line)
	}
	text := fmt.Sprintf("plan: %s: %s: %s", at, path, fmt.Sprintf(format, v...))
	if !slices.ContainsFunc(c.errs, func(e error) bool { return e.Error() == text }) {
		c.errs = append(c.errs, errors.New(text))
	}
}

// Limits and defaults of plans.
const (
	defaultRepeats  = 3
	defaultDuration = 5 * time.Minute
	defaultMargin   = 0.02
	defaultRetries  = 1
	minKeep         = 2 * time.Second
)

func (c *planChecker) check(p *Plan, drivers map[string]Driver) []*Variant {
	if err := schemas.CheckName("experiment", p.Experiment); err != nil {
		c.say("experiment", "%v", err)
	}
	p.Repeats = orInt(p.Repeats, defaultRepeats)
	if p.Duration == 0 {
		p.Duration = workload.Duration(defaultDuration)
	}
	if p.Interval == 0 {
		p.Interval = workload.Duration(time.Second)
	}
	if p.Margin == 0 {
		p.Margin = defaultMargin
	}
	if p.Retries == nil {
		n := defaultRetries
		p.Retries = &n
	}
	if p.Order == "" {
		p.Order = OrderABBA
	}
	if !slices.Contains([]string{OrderABBA, OrderRandom, OrderBlocks}, p.Order) {
		c.say("order", "%q: want %s, %s or %s", p.Order, OrderABBA, OrderRandom, OrderBlocks)
	}
	if time.Duration(p.Interval) < 10*time.Millisecond {
		c.say("interval", "%s: the shortest is 10ms", p.Interval)
	}
	for what, cpus := range map[string]workload.CPUs{"server": p.Placement.Server, "load": p.Placement.Load, "collector": p.Placement.Collector} {
		if p.Placement.Free && len(cpus) > 0 {
			c.say("placement."+what, "CPUs, and free as well: leave one out")
		}
	}
	c.systems(p)
	if len(p.Scenarios) == 0 {
		c.say("scenarios", "none: name at least one")
	}
	var out []*Variant
	for i := range p.Scenarios {
		out = append(out, c.scenario(p, i, drivers)...)
	}
	seen := map[string]string{}
	for _, v := range out {
		key := v.System.Name + "/" + v.Name
		if seen[key] != "" {
			c.say("scenarios", "two of them are called %s on system %s: give each a name", v.Name, v.System.Name)
		}
		seen[key] = v.Name
	}
	return out
}

func orInt(v, otherwise int) int {
	if v == 0 {
		return otherwise
	}
	return v
}

func (c *planChecker) systems(p *Plan) {
	if len(p.Systems) == 0 {
		c.say("systems", "none: name at least one, two to compare")
	}
	names := map[string]bool{}
	for i := range p.Systems {
		s := &p.Systems[i]
		path := fmt.Sprintf("systems[%d]", i)
		if err := schemas.CheckName("name", s.Name); err != nil {
			c.say(path, "%v", err)
		}
		if names[s.Name] {
			c.say(path, "a second system %s", s.Name)
		}
		names[s.Name] = true
		for key := range s.Sysctl {
			if !sysctlRE.MatchString(key) {
				c.say(path+".sysctl", "%q is no name of a kernel setting", key)
			}
		}
	}
	switch {
	case p.Baseline == "" && len(p.Systems) > 0:
		p.Baseline = p.Systems[0].Name
	case !names[p.Baseline]:
		c.say("baseline", "%q is none of the systems", p.Baseline)
	}
}

var sysctlRE = regexp.MustCompile(`^[a-z][a-zA-Z0-9_/-]*([.][a-zA-Z0-9_/:-]+)+$`)

// SysctlPath returns the file of a kernel setting (sysctl(8)).
func SysctlPath(name string) string {
	return "/proc/sys/" + strings.Map(func(r rune) rune {
		switch r {
		case '.':
			return '/'
		case '/':
			return '.'
		}
		return r
	}, name)
}

// scenario makes a scenario's variants: each combination of its parameters' values on
// each system.
func (c *planChecker) scenario(p *Plan, i int, drivers map[string]Driver) []*Variant {
	s := &p.Scenarios[i]
	path := fmt.Sprintf("scenarios[%d]", i)
	driver := drivers[s.Workload]
	if driver == nil {
		c.say(path+".workload", "%q: want one of %s", s.Workload, strings.Join(slices.Sorted(maps.Keys(drivers)), ", "))
		return nil
	}
	if s.Name == "" {
		s.Name = s.Workload
	}
	if s.Duration == 0 {
		s.Duration = p.Duration
	}
	if s.Keep == 0 {
		s.Keep = min(p.Keep, s.Duration)
	}
	if s.Keep == 0 {
		s.Keep = s.Duration * 3 / 5 // of five minutes the last three
	}
	if s.Repeats == 0 {
		s.Repeats = p.Repeats
	}
	if s.Repeats < 1 || s.Repeats > 1000 {
		c.say(path+".repeats", "%d: want 1 to 1000", s.Repeats)
	}
	if s.Keep > s.Duration || time.Duration(s.Keep) < minKeep {
		c.say(path+".keep", "%s of %s: want at least %s, and no more than the duration", s.Keep, s.Duration, minKeep)
	}
	var out []*Variant
	for _, with := range combinations(s.With) {
		name := s.Name
		for _, k := range slices.Sorted(maps.Keys(s.With)) {
			if _, list := s.With[k].([]any); list {
				name += "_" + k + "-" + slug(with[k])
			}
		}
		if err := schemas.CheckName("name", name); err != nil {
			c.say(path, "%v: give the scenario a shorter name", err)
			continue
		}
		for k := range p.Systems {
			sys := &p.Systems[k]
			params := maps.Clone(with)
			if params == nil {
				params = map[string]any{}
			}
			maps.Copy(params, sys.With[s.Workload])
			w, err := makeWorkload(driver, params)
			if err != nil {
				at, text := c.param(path, err)
				c.say(at, "%s", text)
				break
			}
			out = append(out, &Variant{Scenario: s, System: sys, Name: name, Workload: w})
		}
	}
	for k := range p.Systems {
		for name := range p.Systems[k].With {
			if drivers[name] == nil {
				c.say(fmt.Sprintf("systems[%d].with.%s", k, name), "no such workload: want one of %s", strings.Join(slices.Sorted(maps.Keys(drivers)), ", "))
			}
		}
	}
	return out
}

// param returns the path of the parameter that an error is about, if it names one, and
// the rest of the error.
func (c *planChecker) param(path string, err error) (at, text string) {
	word, rest, _ := strings.Cut(err.Error(), ": ")
	if p := path + ".with." + word; c.lines[p] != 0 {
		return p, rest
	}
	return path + ".with", err.Error()
}

// makeWorkload gives a driver its parameters.
func makeWorkload(d Driver, params map[string]any) (workload.Workload, error) {
	text, err := yaml.Marshal(params)
	if err != nil {
		return nil, err
	}
	return d(func(into any) error {
		if err := yaml.UnmarshalWithOptions(text, into, yaml.Strict()); err != nil {
			var unknown *yaml.UnknownFieldError
			if errors.As(err, &unknown) && unknown.Token != nil {
				return fmt.Errorf("%s: no such parameter", unknown.Token.Value)
			}
			var e yaml.Error
			if errors.As(err, &e) && e.GetToken() != nil && e.GetToken().Prev != nil && e.GetToken().Prev.Prev != nil {
				return fmt.Errorf("%s: %s", e.GetToken().Prev.Prev.Value, plainly(e.GetMessage()))
			}
			return err
		}
		return nil
	})
}

// combinations returns each choice of one value of the lists among the parameters, the
// last parameter's values changing fastest.
func combinations(with map[string]any) []map[string]any {
	out := []map[string]any{maps.Clone(with)}
	for _, k := range slices.Sorted(maps.Keys(with)) {
		list, ok := with[k].([]any)
		if !ok {
			continue
		}
		var next []map[string]any
		for _, m := range out {
			for _, v := range list {
				x := maps.Clone(m)
				x[k] = v
				next = append(next, x)
			}
		}
		out = next
	}
	return out
}

// slug returns a value as a part of a name.
func slug(v any) string {
	return strings.Trim(slugRE.ReplaceAllString(fmt.Sprint(v), "-"), "-")
}

var slugRE = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// Schedule returns all runs in order. Scenarios come one after the other, so that what
// is compared runs close together; seed is used by OrderRandom only.
func (p *Plan) Schedule(variants []*Variant, seed uint64) []Item {
	var out []Item
	random := rand.New(rand.NewPCG(seed, 0x5eed))
	for len(variants) > 0 {
		n := 1
		for n < len(variants) && variants[n].Name == variants[0].Name {
			n++
		}
		group := variants[:n]
		variants = variants[n:]
		repeats := group[0].Scenario.Repeats
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		switch p.Order {
		case OrderBlocks:
			for _, v := range group {
				for k := range repeats {
					out = append(out, Item{v, k + 1})
				}
			}
			continue
		}
		for k := range repeats {
			switch {
			case p.Order == OrderRandom:
				random.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
			case k > 0:
				slices.Reverse(order)
			}
			for _, i := range order {
				out = append(out, Item{group[i], k + 1})
			}
		}
	}
	return out
}

// Takes returns about how long a run takes, with what comes before and after it.
func (p *Plan) Takes(v *Variant) time.Duration {
	return time.Duration(v.Scenario.Duration) + v.Workload.Needs() + time.Duration(p.Pause)
}

// Seeded returns the plan's seed, or one that is drawn.
func (p *Plan) Seeded() uint64 {
	if p.Seed != nil {
		return *p.Seed
	}
	return rand.Uint64()
}
