// Package needsyou shows the jobs that wait for a person.
package needsyou

import (
	"github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Needs is all that the page shows, and live.
type Needs struct {
	Count string // "1 question, 2 reviews"
	// Budgets are used up: a person decides what becomes of them.
	Budgets []Budget
	// Models have no price: a person says what they count as, or lets them pass.
	Models []Model
	// Losses are what the database lacks of the log.
	Losses []Loss
	// Webhooks were disabled by the server.
	Webhooks []Webhook
	Rows     []Row
	More     string // that there are more, "" where all are listed
}

// Budget is one that is used up.
type Budget struct {
	ID, Name, URL string
	Title         string // what is wrong with it
	Text          string
	Raise         string // "" for who may not
	Transfer      string
	Stop          string
}

// Model is a model without a price that a budget needs.
type Model struct {
	Name, Text string
	Decide     string   // takes the decision, "" for who may not
	Price      string   // the form for a price of it
	As         []string // models that it may count as
}

// Loss is what the database lacks of the log.
type Loss struct {
	ID    string
	Text  string
	URL   string // where more is said of it
	Since ui.When
	Note  string // says that it is known, "" for who may not
}

// Webhook is one that the server does not send to any more.
type Webhook struct {
	ID, Address, Text string
	URL               string // its page, "" for who may not
	Since             ui.When
}

// Row is one job with what a person can do about it.
type Row struct {
	Key, Title, URL string
	Status          ui.Status
	What            string // "Question"
	Place           string // "ledger-api · M2"
	Since           ui.When
	Reason          *jobparts.Reason
	Question        *Question
	Link            *Link // nil for none
	Actions         []ui.Action
	Version         int
}

// Question is what an agent asks.
type Question struct {
	Agent string
	Text  string
	URL   string // takes the answer, "" where the reader may not
}

// Link leads to where the job is looked after.
type Link struct {
	Label, Icon, URL string
	Main             bool // it is what to do, not where to look
}

// DOMID returns the id of the row.
func (r Row) DOMID() string { return "need-" + ui.DOMID(r.Key) }

// FieldID returns the id of the answer's field.
func (r Row) FieldID() string { return "answer-" + ui.DOMID(r.Key) }
