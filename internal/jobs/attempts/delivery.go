package attempts

import "time"

// DeliveryState is what became of the commit of an attempt after its end.
type DeliveryState string

// The states. Untold is an attempt of which nothing is reported, such as one of an agent that
// never does; Awaited is one whose agent said at its end that it will.
const (
	Untold  DeliveryState = ""
	Awaited DeliveryState = "awaited"
	Local   DeliveryState = "local"   // there is no origin: the branch stands in the clone of the host
	Pushed  DeliveryState = "pushed"  // the origin has it
	Refused DeliveryState = "refused" // the origin did not take it
)

// Limits of what is reported, in characters, as openapi.yaml and the schema have them.
const (
	MaxBranch = 255
	MaxDetail = 2000
	// MaxTellings is how often the delivery reported of an attempt may change.
	MaxTellings = 50
)

// Delivery is what is reported of the commit of an attempt.
type Delivery struct {
	State  DeliveryState `json:"state"`
	Branch string        `json:"branch"`
	Commit string        `json:"commit"`
	Detail string        `json:"detail"` // of a refusal: the origin's own words
	At     *time.Time    `json:"at"`     // nil as long as nothing is reported
}

// IsTold reports whether anything was reported.
func (d Delivery) IsTold() bool { return d.State != Untold && d.State != Awaited }

// IsMissing reports whether a commit is to come to the origin and is not there yet.
func (d Delivery) IsMissing(commit string) bool {
	return (d.State == Awaited || d.State == Refused) && (d.Commit == "" || d.Commit == commit)
}

// finality orders the states of one commit: none is followed by one that is less final.
var finality = map[DeliveryState]int{Untold: 0, Awaited: 1, Local: 2, Refused: 3, Pushed: 4}

// After returns what is known once told has come in, and whether that is anything new. Calls
// arrive late and twice: of one commit, what was pushed stays pushed, and a refusal ends only
// with a push. What is reported of another commit takes the place of all.
func (d Delivery) After(told Delivery) (now Delivery, changed bool) {
	same := d.IsTold() && d.Commit == told.Commit
	switch {
	case same && finality[told.State] < finality[d.State]:
		return d, false
	case same && told.State == d.State && (d.State != Refused || told.Detail == d.Detail):
		return d, false
	}
	return told, true
}
