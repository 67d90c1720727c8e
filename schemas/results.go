package schemas

// ResultsSchema is the version of results.json. Fields may be added under it;
// readers ignore what they don't know.
const ResultsSchema = "steady.results/1"

// Verdicts of a comparison.
const (
	Better    = "better"
	Worse     = "worse"
	Same      = "same"
	Undecided = "undecided"
)

// Results is results.json of an experiment. What is unknown is null, with the reason
// in warnings; no number is ever NaN or infinite.
type Results struct {
	Schema        string  `json:"schema"`
	Experiment    string  `json:"experiment"`
	Baseline      string  `json:"baseline"`
	MarginPercent float64 `json:"margin_percent"`
	// AA says that the systems are one and the same, by the user's word: what differs
	// then is noise, order or method.
	AA           bool       `json:"aa"`
	Scenarios    []Scenario `json:"scenarios"`
	Drift        []Drift    `json:"drift"`
	Quality      []RunNote  `json:"quality"`
	Plausibility []Finding  `json:"plausibility"`
}

// Scenario is a workload with its parameters, and all that was compared in it.
type Scenario struct {
	Scenario string         `json:"scenario"`
	Params   map[string]any `json:"params"`
	Metrics  []MetricResult `json:"metrics"`
}

// MetricResult is one metric of a scenario. Host null is all hosts of the role,
// device null their total.
type MetricResult struct {
	Metric      string             `json:"metric"`
	Role        string             `json:"role"`
	Host        *string            `json:"host"`
	Device      *string            `json:"device"`
	Unit        string             `json:"unit"`
	Direction   Direction          `json:"direction"`
	Primary     bool               `json:"primary"`
	Systems     []SystemResult     `json:"systems"`
	Comparisons []ComparisonResult `json:"comparisons"`
}

// SystemResult is a system's summary of a metric: Student t over its runs.
type SystemResult struct {
	System    string        `json:"system"`
	Runs      int           `json:"runs"`
	Used      int           `json:"used"`
	RunValues []*float64    `json:"run_values"`
	Mean      *float64      `json:"mean"`
	CI        [2]*float64   `json:"ci"`
	Level     float64       `json:"level"`
	Median    *float64      `json:"median"`
	Window    string        `json:"window"`
	Windows   WindowsResult `json:"windows"`
	SDBetween *float64      `json:"sd_between"`
	SDWithin  *float64      `json:"sd_within"`
	// NoiseFloorPercent is the difference between two sets of as many runs of this
	// very system that chance exceeds one time in twenty.
	NoiseFloorPercent *float64   `json:"noise_floor_percent"`
	ESS               []*float64 `json:"ess"`
	Warnings          []string   `json:"warnings"`
}

// WindowsResult shows both windows; the one judged is named beside them.
type WindowsResult struct {
	Fixed *WindowResult `json:"fixed"`
	Auto  *WindowResult `json:"auto"`
}

// WindowResult is what a window gives.
type WindowResult struct {
	FromS  float64  `json:"from_s"`
	ToS    float64  `json:"to_s"`
	Steady *bool    `json:"steady"`
	Mean   *float64 `json:"mean"`
}

// ComparisonResult compares a system with the baseline.
type ComparisonResult struct {
	System        string      `json:"system"`
	Difference    *float64    `json:"difference"`
	DifferenceCI  [2]*float64 `json:"difference_ci"`
	Percent       *float64    `json:"percent"`
	PercentCI     [2]*float64 `json:"percent_ci"`
	Level         float64     `json:"level"`
	P             *float64    `json:"p"`
	Q             *float64    `json:"q"`
	DF            *float64    `json:"df"`
	Paired        bool        `json:"paired"`
	Method        string      `json:"method"`
	MarginPercent float64     `json:"margin_percent"`
	Verdict       *string     `json:"verdict"`
	Differs       *bool       `json:"differs"`
	MDEPercent    *float64    `json:"mde_percent"`
	RunsNeeded    *int        `json:"runs_needed"`
	Warnings      []string    `json:"warnings"`
}

// Drift is the verdict on one metric of a soak.
type Drift struct {
	Run       string      `json:"run"`
	Metric    string      `json:"metric"`
	Host      *string     `json:"host"`
	Device    *string     `json:"device"`
	Verdict   string      `json:"verdict"`
	Shape     *string     `json:"shape"`
	Onset     *string     `json:"onset"`
	OnsetCI   [2]*string  `json:"onset_ci"`
	OnsetS    *float64    `json:"onset_s"` // in the run's elapsed time
	OnsetSCI  [2]*float64 `json:"onset_s_ci"`
	Percent   *float64    `json:"percent"`
	PercentCI [2]*float64 `json:"percent_ci"`
	Unit      string      `json:"unit"`
	Absolute  *float64    `json:"absolute"`
	PerDay    *float64    `json:"per_day"`
	Zeros     int         `json:"zeros"` // rows of value 0
	Q         *float64    `json:"q"`
	MDE       *float64    `json:"mde_percent"`
	Warnings  []string    `json:"warnings"`
}

// RunNote is the quality of one run's data.
type RunNote struct {
	System     string   `json:"system"`
	Scenario   string   `json:"scenario"`
	Run        string   `json:"run"`
	Status     string   `json:"status"`
	Used       bool     `json:"used"`
	Why        string   `json:"why,omitempty"`
	Expected   *int64   `json:"expected"`
	Received   int64    `json:"received"`
	Missing    int64    `json:"missing"`
	Duplicates int64    `json:"duplicates"`
	Late       int64    `json:"late"`
	Missed     int64    `json:"missed"`
	Flags      []string `json:"flags"`
}

// Finding is a figure that can't be, or hardly can be, true.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Subject  string `json:"subject"`
	Text     string `json:"text"`
}
