// Package budgets shows what may be spent, what of it is left and whether it lasts.
package budgets

import (
	"fleetboard/views/layout"
	"fleetboard/views/ui"
)

// Page is the page of budgets.
type Page struct {
	Shell   layout.Shell
	Budgets Budgets
}

// Budgets are all budgets, and one of them at length.
type Budgets struct {
	NewURL string // "" for who may not make one
	Empty  *ui.Empty
	One    *Summary
	Chart  *Chart // nil where nothing can be drawn
	Rows   []Row
	Count  string // "6 budgets"
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
	Bar      Bar
	Unpriced string // "1,200 tokens have no known price", "" for none

	Burn     string // "$31.70"
	BurnOver string // "over 7 days"
	BurnNow  string // "$50.40 a day over the last hour"

	RunsOut string
	Tone    ui.Tone
	Likely  string // "nine futures of ten by 30 Nov"
	Warning string // "2 days before the period ends"

	Facts   []Fact
	Actions []Link // what may be done with it
}

// Link leads to a page about the budget.
type Link struct{ Text, URL string }

// Fact is a setting of a budget.
type Fact struct{ Name, Text string }

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
	Free            string
	FreeTone        ui.Tone
	PerDay          string
	RunsOut         string
	Tone            ui.Tone
}

// icon is the mark of a word that warns.
func icon(t ui.Tone) string {
	if t == ui.Bad {
		return "octagon-alert"
	}
	return "triangle-alert"
}
