package handlers

import (
	"slices"

	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// verb is what a person can do with a job: how it is named and asked for.
type verb struct {
	by     jobs.Trigger
	label  string
	icon   string
	danger bool
	// main are the statuses where it stands in the top bar of the job's page.
	main []jobs.Status
	// ask makes the dialog before it, nil for none.
	ask func(j jobs.Job) *views.ActionDialog
	// hidden verbs have a form of their own on the page.
	hidden bool
	// done is the toast's fact, after the job's key.
	done string
}

// verbs are all of them in the order of the menus. Which are possible is the
// table of package jobs.
var verbs = []verb{
	{by: jobs.ByReject, label: "Reject", icon: "undo-2", main: []jobs.Status{jobs.InReview}, ask: askReject, done: "was sent back"},
	{by: jobs.ByApprove, label: "Approve", icon: "circle-check", main: []jobs.Status{jobs.InReview}, done: "approved"},
	{by: jobs.ByMerge, label: "Mark as merged", icon: "git-merge", main: []jobs.Status{jobs.Approved}, ask: askMerge, done: "completed"},
	{by: jobs.ByMergeFail, label: "Merge failed", icon: "undo-2", ask: askMergeFail, done: "is in review again"},
	{by: jobs.ByAnswer, label: "Answer", icon: "reply", hidden: true, done: "got its answer"},
	{by: jobs.ByResume, label: "Resume", icon: "rotate-cw", main: []jobs.Status{jobs.Paused}, done: "resumed"},
	{by: jobs.ByUnblock, label: "Unblock", icon: "rotate-cw", main: []jobs.Status{jobs.Blocked}, done: "unblocked"},
	{by: jobs.ByRetry, label: "Retry", icon: "rotate-cw", main: []jobs.Status{jobs.Failed, jobs.Aborted}, done: "is tried again"},
	{by: jobs.ByPause, label: "Pause", icon: "pause", main: []jobs.Status{jobs.Assigned, jobs.Running}, done: "paused"},
	{by: jobs.ByRelease, label: "Give the lease back", icon: "reply", ask: askRelease, done: "went back to the queue"},
	{by: jobs.ByBlock, label: "Block", icon: "circle-stop", main: []jobs.Status{jobs.Waiting, jobs.Ready}, ask: askBlock, done: "blocked"},
	{by: jobs.ByFinish, label: "Mark as done", icon: "circle-check", ask: askFinish, done: "completed"},
	{by: jobs.ByArchive, label: "Archive", icon: "archive", main: []jobs.Status{jobs.Completed}, done: "archived"},
	{by: jobs.ByCancel, label: "Cancel job", icon: "circle-stop", danger: true, main: []jobs.Status{jobs.Assigned, jobs.Running}, ask: askCancel, done: "cancelled"},
}

// verbNamed finds a person's verb by its name in the URL.
func verbNamed(name string) (verb, bool) {
	i := slices.IndexFunc(verbs, func(v verb) bool { return string(v.by) == name })
	if i < 0 {
		return verb{}, false
	}
	return verbs[i], true
}

// possible reports whether the verb leads anywhere now. What was already asked
// of the agent is not asked again.
func (v verb) possible(j jobs.Job) bool {
	if v.by == jobs.ByResume && j.Lease != nil {
		return j.Lease.Directive == string(jobs.ByPause)
	}
	if !jobs.Can(j.Status, v.by) {
		return false
	}
	if j.Lease == nil {
		return true
	}
	switch j.Lease.Directive {
	case string(jobs.ByCancel):
		return v.by == jobs.ByRelease
	case string(jobs.ByPause):
		return v.by != jobs.ByPause
	}
	return true
}

// actionsOf are the verbs for a job now.
func actionsOf(j jobs.Job) []views.Action {
	var list []views.Action
	for _, v := range verbs {
		if v.hidden || !v.possible(j) {
			continue
		}
		a := views.Action{Verb: string(v.by), Label: v.label, Icon: v.icon, Danger: v.danger,
			URL: links.JobAction(j.Key, string(v.by)), Main: slices.Contains(v.main, j.Status)}
		if v.ask != nil {
			a.Dialog = v.ask(j)
		}
		list = append(list, a)
	}
	return list
}

// moveWords are the words and the glyph of a move, by what it does.
var moveWords = map[jobs.Trigger]struct {
	glyph ui.Status
	label string
}{
	jobs.ByPause:   {ui.Paused, "Waiting, pause it"},
	jobs.ByUnblock: {ui.Ready, "Ready, unblock it"},
	jobs.ByResume:  {ui.Ready, "Ready, resume it"},
	jobs.ByRelease: {ui.Ready, "Ready, give the lease back"},
	jobs.ByRetry:   {ui.Ready, "Ready, try again"},
	jobs.ByMerge:   {ui.Completed, "Done, it is merged"},
	jobs.ByCancel:  {ui.Aborted, "Failed, cancel it"},
}

// movesOf are the columns that a card can go to now.
func movesOf(moves []kanban.Move) []views.Move {
	var list []views.Move
	for _, m := range moves {
		w, ok := moveWords[m.Verb]
		if !ok {
			w.glyph, w.label = ui.Status(m.To), columnTitles[m.To]
		}
		list = append(list, views.Move{To: string(m.To), Glyph: w.glyph, Label: w.label})
	}
	return list
}

func askReject(j jobs.Job) *views.ActionDialog {
	return &views.ActionDialog{Title: "Send " + j.Key + " back?", Reason: true, Long: true, Required: true, Keep: "Leave it in review", Confirm: "Reject",
		Text: ui.Text("It becomes ready again. The next attempt is given your reason.")}
}

func askMerge(j jobs.Job) *views.ActionDialog {
	return &views.ActionDialog{Title: "Is " + j.Key + " merged?", Commit: true, Link: true, Head: resultOf(j).Commit, Keep: "Not yet", Confirm: "Mark as merged",
		Text: ui.Text("It is completed then, and jobs that wait for it can start.")}
}

func askMergeFail(j jobs.Job) *views.ActionDialog {
	return &views.ActionDialog{Title: "Could " + j.Key + " not be merged?", Reason: true, Long: true, Required: true, Keep: "Leave it approved", Confirm: "Back to review",
		Text: ui.Text("It is in review again. Reject it there to have it done anew.")}
}

func askRelease(j jobs.Job) *views.ActionDialog {
	return &views.ActionDialog{Title: "Take " + j.Key + " back?", Reason: true, Keep: "Let it run", Confirm: "Give the lease back",
		Text: ui.Text(holder(j) + " loses it at once; its checkpoint is kept and any factory can go on.")}
}

func askBlock(j jobs.Job) *views.ActionDialog {
	return &views.ActionDialog{Title: "Block " + j.Key + "?", Reason: true, Required: true, Keep: "Leave it", Confirm: "Block it",
		Text: ui.Text("No agent claims it until somebody unblocks it.")}
}

func askFinish(j jobs.Job) *views.ActionDialog {
	return &views.ActionDialog{Title: "Is " + j.Key + " done?", Reason: true, Required: true, Keep: "Not yet", Confirm: "Mark as done",
		Text: ui.Text("It is completed without an agent, and jobs that wait for it can start. Say why.")}
}

func askCancel(j jobs.Job) *views.ActionDialog {
	d := &views.ActionDialog{Title: "Cancel " + j.Key + "?", Reason: true, Keep: "Keep it", Confirm: "Cancel job",
		Text: ui.Text("Jobs that wait for it go on waiting until it is retried and completed.")}
	if j.Lease != nil {
		d.Keep = "Keep it running"
		d.Text = ui.Text(holder(j) + " gets 60 seconds to stop. Jobs that wait for it go on waiting.")
	}
	return d
}

// holder is the agent that works on a job.
func holder(j jobs.Job) string {
	if j.Lease == nil {
		return "The agent"
	}
	return j.Lease.Agent
}
