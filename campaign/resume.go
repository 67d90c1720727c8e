package campaign

import "fmt"

// Done is a run that has a folder already.
type Done struct {
	System, Scenario string
	Run              int
	// Complete says that it counts; one that failed is recorded, and done again.
	Complete bool
}

// Remaining returns the items that no complete run is there for, in order.
func Remaining(items []Item, done []Done) []Item {
	have := map[string]int{}
	for _, d := range done {
		if d.Complete {
			have[d.System+"/"+d.Scenario]++
		}
	}
	var out []Item
	for _, x := range items {
		if key := x.System.Name + "/" + x.Name; have[key] > 0 {
			have[key]--
		} else {
			out = append(out, x)
		}
	}
	return out
}

// NextNumber returns the number of the next run of a scenario on a system: above those
// that are there, failed ones too.
func NextNumber(done []Done, system, scenario string) int {
	n := 1
	for _, d := range done {
		if d.System == system && d.Scenario == scenario {
			n = max(n, d.Run+1)
		}
	}
	return n
}

// State is what an experiment has to remember beside its plan, so that it can be gone on
// with: state.json in its folder.
type State struct {
	Schema string `json:"schema"`
	// Seed decides the order.
	Seed uint64 `json:"seed"`
	// Extended are the scenarios that were extended, which may happen once: by name, how
	// many runs a system had when that was decided, and how many it shall have.
	Extended map[string]Extension `json:"extended,omitempty"`
}

// Extension is an extension of a scenario (analyze.ExtendedRuns).
type Extension struct {
	Pilot int `json:"pilot"`
	Runs  int `json:"runs"`
}

// StateSchema is the version of state.json.
const StateSchema = "steady.state/1"

// Extend sets the repeats of the scenarios that were extended.
func (s *State) Extend(variants []*Variant) {
	for i, v := range variants {
		if e, ok := s.Extended[v.Name]; ok {
			// The variants of a scenario's parameters share it, the extension is one's own.
			own := *v.Scenario
			own.Repeats = max(own.Repeats, e.Runs)
			x := *v
			x.Scenario = &own
			variants[i] = &x
		}
	}
}

// SamePlan returns an error if an experiment that has begun is to be gone on with under
// another plan than it began with.
func SamePlan(before, now []byte) error {
	if before != nil && string(before) != string(now) {
		return fmt.Errorf("the experiment began with another plan: give this one another experiment name, or go on with the plan that is there")
	}
	return nil
}
