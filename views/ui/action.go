package ui

import "strings"

// Action is a verb that a person may use on a job now.
type Action struct {
	Verb   string // "pause": also its key in the page
	Label  string // "Pause", "Cancel job"
	Icon   string // "pause"
	URL    string // links.JobAction
	Danger bool   // red; with Dialog set the dialog's button is filled
	Main   bool   // stands in the top bar of the job's page, else in its menu
	Dialog *Dialog
	Key    string // the single key that presses it, "" for none
}

// Dialog asks for confirmation before an action is done.
type Dialog struct {
	Title    string   // "Cancel FB-142?"
	Text     Sentence // what happens
	Lists    []DialogList
	Reason   bool   // shows the reason's field
	Long     bool   // the reason may have several lines
	Required bool   // the reason may not be empty
	Keep     string // the other button: "Keep it running"
	Confirm  string // "Cancel job"
	// Commit and Link add fields named commit and url, for the merge that a
	// person reports; Head is what stands in the first.
	Commit, Link bool
	Head         string
}

// DialogList is what a dialog names above its buttons: open criteria, failed checks.
type DialogList struct {
	Title string // "2 criteria are open"
	Items []string
}

// Summary returns what the lists are about, in one line.
func (d *Dialog) Summary() string {
	titles := make([]string, len(d.Lists))
	for i, l := range d.Lists {
		titles[i] = l.Title
	}
	return strings.Join(titles, ", ")
}
