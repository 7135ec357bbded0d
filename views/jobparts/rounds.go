package jobparts

import "github.com/fleetboard/fleetboard/views/ui"

// Verification is what verifiers say of a job's work. The zero value shows nothing.
type Verification struct {
	Note   string      // "round 2 of 3, $0.50"
	Open   ui.Sentence // who verifies since when, as long as it is open
	Choice string      // what a person may do meanwhile
	Rounds []Round     // the newest first
	More   ui.Sentence // that there are older ones
}

// Round is one verification.
type Round struct {
	ID     string // of its element
	Number string // "Round 2 of 3"
	Word   string // "Wants changes"
	Icon   string
	Tone   ui.Tone
	At     ui.When
	Facts  []ui.Sentence // who, on which commit, in which job, what it cost
	Error  string        // why it ended without a verdict

	Criteria []Judged
	Findings []Finding
	Hidden   string // "and 12 findings more"
}

// Judged is what a verifier says of a criterion.
type Judged struct {
	Text, Word, Evidence string
	Icon                 string
	Tone                 ui.Tone
}

// Finding is something that a verifier found.
type Finding struct {
	Severity, Place, Text string
	Tone                  ui.Tone
}

// shown reports whether there is something to show.
func (v Verification) shown() bool { return len(v.Rounds) > 0 }
