package job

import (
	"slices"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Verb is what a person can do with a job: its name and its dialog.
type Verb struct {
	By     jobs.Trigger
	Label  string
	Icon   string
	danger bool
	// main are the statuses where it stands in the top bar of the job's page.
	main []jobs.Status
	// Ask makes the dialog before it; nil, or a nil dialog, means none.
	Ask func(j jobs.Job) *ui.Dialog
	// hidden verbs have a form of their own on the page.
	hidden bool
	// done is the toast's fact, after the job's key.
	Done string
}

// Verbs are all of them in the order of the menus. Which are possible is the
// table of package jobs.
var Verbs = []Verb{
	{By: jobs.ByReject, Label: "Reject", Icon: "undo-2", main: []jobs.Status{jobs.InReview}, Ask: askReject, Done: "was sent back"},
	{By: jobs.ByApprove, Label: "Approve", Icon: "circle-check", main: []jobs.Status{jobs.InReview}, Ask: askApprove, Done: "approved"},
	{By: jobs.ByMerge, Label: "Mark as merged", Icon: "git-merge", main: []jobs.Status{jobs.Approved}, Ask: askMerge, Done: "completed"},
	{By: jobs.ByMergeFail, Label: "Merge failed", Icon: "undo-2", Ask: askMergeFail, Done: "is in review again"},
	{By: jobs.ByAnswer, Label: "Answer", Icon: "reply", hidden: true, Done: "got its answer"},
	{By: jobs.ByResume, Label: "Resume", Icon: "rotate-cw", main: []jobs.Status{jobs.Paused}, Done: "resumed"},
	{By: jobs.ByUnblock, Label: "Unblock", Icon: "rotate-cw", main: []jobs.Status{jobs.Blocked}, Done: "unblocked"},
	{By: jobs.ByRetry, Label: "Retry", Icon: "rotate-cw", main: []jobs.Status{jobs.Failed, jobs.Aborted},
		Ask: askRetry, Done: "is tried again"},
	{By: jobs.ByPause, Label: "Pause", Icon: "pause", main: []jobs.Status{jobs.Assigned, jobs.Running}, Done: "paused"},
	{By: jobs.ByRelease, Label: "Give the lease back", Icon: "reply", Ask: askRelease, Done: "went back to the queue"},
	{By: jobs.ByBlock, Label: "Block", Icon: "circle-stop", main: []jobs.Status{jobs.Waiting, jobs.Ready}, Ask: askBlock, Done: "blocked"},
	{By: jobs.ByFinish, Label: "Mark as done", Icon: "circle-check", Ask: askFinish, Done: "completed"},
	{By: jobs.ByArchive, Label: "Archive", Icon: "archive", main: []jobs.Status{jobs.Completed}, Done: "archived"},
	{By: jobs.ByCancel, Label: "Cancel job", Icon: "circle-stop", danger: true,
		main: []jobs.Status{jobs.Assigned, jobs.Running}, Ask: askCancel, Done: "cancelled"},
}

// VerbNamed finds a person's verb by its name in the URL.
func VerbNamed(name string) (Verb, bool) {
	i := slices.IndexFunc(Verbs, func(v Verb) bool { return string(v.By) == name })
	if i < 0 {
		return Verb{}, false
	}
	return Verbs[i], true
}

// Possible reports whether the verb leads anywhere now. A directive that the agent
// already has is not possible again, except that a person may take over a pause of a loop;
// what a stop pauses goes on with its release only.
func (v Verb) Possible(j jobs.Job) bool {
	if v.By == jobs.ByResume && j.Lease != nil {
		return j.Lease.Directive == string(jobs.ByPause) && !j.Lease.DirectiveBy.IsStop()
	}
	if !j.Can(v.By) {
		return false
	}
	if j.Lease == nil {
		return true
	}
	switch j.Lease.Directive {
	case string(jobs.ByCancel):
		return v.By == jobs.ByRelease
	case string(jobs.ByPause):
		return v.By != jobs.ByPause || j.Lease.DirectiveBy.Kind == tenancy.KindSystem
	}
	return true
}

// Actions returns the verbs for a job now.
func Actions(j jobs.Job) []ui.Action {
	var list []ui.Action
	for _, v := range Verbs {
		if !v.hidden && v.Possible(j) {
			list = append(list, v.action(j))
		}
	}
	return list
}

// action returns the verb for a job, with the dialog before it.
func (v Verb) action(j jobs.Job) ui.Action {
	a := ui.Action{Verb: string(v.By), Label: v.Label, Icon: v.Icon, Danger: v.danger,
		URL: links.JobAction(j.Key, string(v.By)), Main: slices.Contains(v.main, j.Status)}
	if v.Ask != nil {
		a.Dialog = v.Ask(j)
	}
	return a
}

// AskedAction returns a verb that has a dialog before it, where it is possible.
func AskedAction(j jobs.Job, by jobs.Trigger) (ui.Action, bool) {
	v, ok := VerbNamed(string(by))
	if !ok || v.Ask == nil || !v.Possible(j) {
		return ui.Action{}, false
	}
	a := v.action(j)
	return a, a.Dialog != nil
}

// moveWords are the words and the glyph of a move, by what it does.
var moveWords = map[jobs.Trigger]struct {
	glyph jobs.Status
	label string
}{
	jobs.ByPause:   {jobs.Paused, "Waiting, pause it"},
	jobs.ByUnblock: {jobs.Ready, "Ready, unblock it"},
	jobs.ByResume:  {jobs.Ready, "Ready, resume it"},
	jobs.ByRelease: {jobs.Ready, "Ready, give the lease back"},
	jobs.ByRetry:   {jobs.Ready, "Ready, try again"},
	jobs.ByMerge:   {jobs.Completed, "Done, it is merged"},
	jobs.ByCancel:  {jobs.Aborted, "Failed, cancel it"},
}

// Moves returns the columns that a job's card can go to now; one that needs a confirmation
// on the job's page needs it here too.
func Moves(j jobs.Job, moves []screens.Move) []view.Move {
	var list []view.Move
	for _, m := range moves {
		w, ok := moveWords[m.Verb]
		if !ok {
			w.glyph, w.label = jobs.Status(m.To), ColumnTitles[m.To]
		}
		move := view.Move{To: string(m.To), Glyph: w.glyph, Label: w.label}
		if _, asks := AskedAction(j, m.Verb); asks {
			move.Ask = links.JobAsk(j.Key, string(m.Verb))
			move.AskPage = links.JobDialog(j.Key, string(m.Verb))
		}
		list = append(list, move)
	}
	return list
}

// askApprove asks for confirmation where something speaks against it.
func askApprove(j jobs.Job) *ui.Dialog {
	open, failed := doubts(j)
	if len(open)+len(failed) == 0 {
		return nil
	}
	d := &ui.Dialog{Title: "Approve " + j.Key + " all the same?", Keep: "Look again", Confirm: "Approve all the same",
		Text: ui.Text("It waits for its merge then.")}
	if len(open) > 0 {
		d.Lists = append(d.Lists, ui.DialogList{Title: web.Plural(len(open), "criterion is open", "criteria are open"), Items: open})
	}
	if len(failed) > 0 {
		d.Lists = append(d.Lists, ui.DialogList{Title: web.Plural(len(failed), "check failed", "checks failed"), Items: failed})
	}
	return d
}

func askReject(j jobs.Job) *ui.Dialog {
	return &ui.Dialog{Title: "Send " + j.Key + " back?", Reason: true, Long: true, Required: true,
		Keep: "Leave it in review", Confirm: "Reject",
		Text: ui.Text("It becomes ready again. The next attempt is given your reason.")}
}

func askMerge(j jobs.Job) *ui.Dialog {
	return &ui.Dialog{Title: "Is " + j.Key + " merged?", Commit: true, Link: true, Head: ReadResult(j).Commit,
		Keep: "Not yet", Confirm: "Mark as merged",
		Text: ui.Text("It is completed then, and jobs that wait for it can start.")}
}

func askMergeFail(j jobs.Job) *ui.Dialog {
	return &ui.Dialog{Title: "Could " + j.Key + " not be merged?", Reason: true, Long: true, Required: true,
		Keep: "Leave it approved", Confirm: "Back to review",
		Text: ui.Text("It is in review again. Reject it there to have it done anew.")}
}

// askRetry asks what more there is to do, and for confirmation, where work was accepted.
func askRetry(j jobs.Job) *ui.Dialog {
	if j.Status != jobs.Completed {
		return nil
	}
	return &ui.Dialog{Title: "Go on with " + j.Key + "?", Reason: true, Long: true, Keep: "Leave it done", Confirm: "Go on",
		Text: ui.Text("It is done and accepted. The next attempt goes on in the same branch and session where it can, and is told what " +
			"you write here. Its result replaces this one; the approval and the merge are forgotten.")}
}

func askRelease(j jobs.Job) *ui.Dialog {
	return &ui.Dialog{Title: "Take " + j.Key + " back?", Reason: true, Keep: "Let it run", Confirm: "Give the lease back",
		Text: ui.Text(Holder(j) + " loses it at once; its checkpoint is kept and any factory can go on.")}
}

func askBlock(j jobs.Job) *ui.Dialog {
	return &ui.Dialog{Title: "Block " + j.Key + "?", Reason: true, Required: true, Keep: "Leave it", Confirm: "Block it",
		Text: ui.Text("No agent claims it until somebody unblocks it.")}
}

func askFinish(j jobs.Job) *ui.Dialog {
	return &ui.Dialog{Title: "Is " + j.Key + " done?", Reason: true, Required: true, Keep: "Not yet", Confirm: "Mark as done",
		Text: ui.Text("It is completed without an agent, and jobs that wait for it can start. Say why.")}
}

func askCancel(j jobs.Job) *ui.Dialog {
	d := &ui.Dialog{Title: "Cancel " + j.Key + "?", Reason: true, Keep: "Keep it", Confirm: "Cancel job",
		Text: ui.Text("Jobs that wait for it go on waiting until it is retried and completed.")}
	if j.Lease != nil {
		d.Keep = "Keep it running"
		d.Text = ui.Text(Holder(j) + " gets 60 seconds to stop. Jobs that wait for it go on waiting.")
	}
	return d
}

// Holder returns the agent that works on a job.
func Holder(j jobs.Job) string {
	if j.Lease == nil {
		return "The agent"
	}
	return j.Lease.Agent
}
