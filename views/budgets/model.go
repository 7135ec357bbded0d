// Package budgets shows what may be spent, what of it is left and whether it lasts.
package budgets

import (
	"github.com/fleetboard/fleetboard/views/ui"
)

// Budgets are all budgets, and one of them at length.
type Budgets struct {
	NewURL string // "" for who may not make one
	Empty  *ui.Empty
	One    *Summary
	Chart  *Chart  // nil where nothing can be drawn
	Models *Models // nil where nothing was used
	Past   *Past   // nil for a budget without periods
	// Estimates are not live; nil where nothing has finished.
	Estimates *Estimates
	Rows      []Row
	Count     string // "6 budgets"
}

// Bar is what a budget has used, in thousandths of its limit.
type Bar struct {
	Settled, Reserved string
	ReservedFrom      string
	Label             string // the same in words
}

// Summary is how one budget stands.
type Summary struct {
	Title    string // "Ledger API, free of $300.00"
	Free     string
	FreeTone ui.Tone
	Settled  string
	Reserved string
	// SettledURL and ReservedURL are the lines of the ledger that they are the sums of.
	SettledURL, ReservedURL string
	Bar                     Bar
	Unpriced                string // "1,200 tokens have no known price", "" for none

	Burn     string      // "$31.70"
	BurnOver ui.Sentence // "over 7 days", "since 26 Nov 12:05"
	BurnNow  string      // "$50.40 a day over the last hour"

	RunsOut ui.Sentence
	Tone    ui.Tone
	Likely  ui.Sentence // "nine futures of ten by 30 Nov"
	Warning string      // "2 days before the period ends"

	Advice  *Advice // nil for one that lasts, and for who may change nothing
	Uses    []Use   // in money, tokens and runs
	Facts   []Fact
	Actions []Link // what may be done with it
}

// Advice is what may be done about a budget that is near its end.
type Advice struct {
	Text    ui.Sentence
	Actions []Link
}

// Use is what one budget has used of one kind.
type Use struct{ Name, Settled, Reserved, Free, Limit string }

// Past are the periods of a budget that have ended.
type Past struct {
	About string // "the last 6 months"
	Rows  []PastPeriod
}

// PastPeriod is how a period ended.
type PastPeriod struct {
	Name         ui.Sentence // "Oct 2026"
	URL          string      // its ledger
	Bar          Bar
	Spent, Limit string
	Percent      string
	Tone         ui.Tone // of what passed its limit
	Tokens, Runs string
}

// Models are what the budget's jobs used in its period, by model.
type Models struct {
	Period ui.Sentence // "since 1 Nov"
	Rows   []ui.BarRow
	Cost   string
	URL    string // the page of usage
}

// Estimates are the last finished jobs, as they were expected to cost and as they did.
type Estimates struct {
	About  string // "the last 7 finished jobs"
	Within string // "5 of 7 were within 20%"
	Rows   []Estimate
}

// Estimate is one job.
type Estimate struct {
	Key, URL         string
	Expected, Actual string
	Factor           string // "1.2 ×"
	Over             bool   // by more than 20 %
	// Places on a line of 540: where each is, the line between them, and the band of 20 %
	// around what it cost.
	X, Y, Line, Band string
	Label            string
}

// Link leads to a page about the budget.
type Link struct{ Text, URL string }

// Fact is a setting of a budget.
type Fact struct {
	Name string
	Text ui.Sentence
}

// Row is one budget in the table.
type Row struct {
	ID, Name, About string
	URL             string
	Current         bool
	Indented        bool
	Bar             Bar
	Allocated       string
	Settled         string
	Reserved        string
	SettledURL      string // the lines of the ledger
	ReservedURL     string
	Free            string
	FreeTone        ui.Tone
	PerDay          string
	RunsOut         ui.Sentence
	Tone            ui.Tone
}

// icon returns the mark of a word that warns.
func icon(t ui.Tone) string {
	if t == ui.Bad {
		return "octagon-alert"
	}
	return "triangle-alert"
}
