package reason

import (
	"cmp"
	"strings"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/views/ui"
)

// merge says who merges approved work and how, and why the last merge failed: "FB-8
// merges it into main as a merge commit, smith works on it. The last merge: …".
func (s subject) merge() ui.Sentence {
	text := append(s.merger(), mergeHow(s.why.Merge)...)
	if s.why.By.Name != "" {
		text = append(text, ui.T(", "), ui.Name(s.why.By.Name), ui.T(" works on it on "))
		text = append(text, Factories(s.why.Factories)...)
	}
	if waits := MergeHeld(s.why); waits != "" {
		text = append(text, ui.T(". It waits: "+waits))
	} else if s.why.Text != "" {
		text = append(text, ui.T(". The last merge: "+web.FirstLine(s.why.Text, web.MaxQuote)))
	}
	return text
}

// MergeHeld says what a merge waits for before it can begin, "" where it waits for nothing.
func MergeHeld(why screens.Reason) string {
	commit := jobparts.ShortCommit(why.Delivery.Commit)
	switch why.Delivery.State {
	case attempts.Awaited:
		return strings.Join(why.Factories, ", ") + " has yet to say that its commit is at the origin"
	case attempts.Refused:
		return "the origin refused " + commit + refusalWords(why.Delivery)
	default:
		return ""
	}
}

// refused is "The origin refused fleet/FB-1: branches need a ticket".
func (s subject) refused() ui.Sentence {
	d := s.why.Delivery
	text := ui.Say(ui.T("The origin refused "), ui.Key(web.FirstLine(cmp.Or(d.Branch, d.Commit), web.MaxSub)))
	if len(s.why.Factories) > 0 {
		text = append(append(text, ui.T(" of ")), Factories(s.why.Factories)...)
	}
	return append(text, ui.T(refusalWords(d)))
}

// refusalWords returns the origin's, as far as they fit into a line.
func refusalWords(d attempts.Delivery) string {
	if words := web.FirstLine(strings.Join(strings.Fields(d.Detail), " "), web.MaxQuote); words != "" {
		return ": " + words
	}
	return ""
}

// merger is whoever merges.
func (s subject) merger() ui.Sentence {
	switch {
	case s.why.Merge.How == screens.MergeOfNothing:
		return ui.Text("It has nothing to merge and is completed as it is")
	case len(s.why.Keys) > 0:
		return append(ui.Say(), append(web.JoinSpans(KeyLinks(s.why.Keys)), ui.T(" merges it"))...)
	case s.why.Merge.Who == jobs.MergeByPerson && s.job.Repo == "" && s.job.ApprovedHead != "":
		return ui.Text("It names no repo, so a person merges it and marks it as merged")
	case s.why.Merge.Who == jobs.MergeByPerson:
		return ui.Text("A person merges it and marks it as merged")
	case s.why.Merge.Who == jobs.MergeByPullRequest:
		return ui.Say(ui.T("A factory that opens pull requests of "), ui.Name(s.job.Repo), ui.T(" merges it"))
	}
	return ui.Say(ui.T("A factory with "), ui.Name(s.job.Repo), ui.T(" merges it"))
}

// mergeHow returns the branch and the way, where there are some.
func mergeHow(w screens.Way) ui.Sentence {
	words := map[string]string{jobs.MergeCommit: " as a merge commit", jobs.MergeFastForward: " by fast-forward",
		jobs.MergeByPullRequest: " by a pull request"}[w.How]
	switch {
	case words == "":
		return nil
	case w.Into == "":
		return ui.Say(ui.T(words))
	}
	return ui.Say(ui.T(" into "), ui.Name(w.Into), ui.T(words))
}
