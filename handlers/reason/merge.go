package reason

import (
	"fleetboard/handlers/web"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/views/ui"
)

// mergeText says who merges approved work and how, and why the last merge failed: "FB-8
// merges it into main as a merge commit, smith works on it. The last merge: …".
func mergeText(j jobs.Job, why kanban.Reason) ui.Sentence {
	text := append(mergerText(j, why), mergeHow(why.Merge)...)
	if why.By.Name != "" {
		text = append(text, ui.T(", "), ui.Name(why.By.Name), ui.T(" works on it on "))
		text = append(text, Factories(why.Factories)...)
	}
	if why.Text != "" {
		text = append(text, ui.T(". The last merge: "+web.FirstLine(why.Text, web.MaxQuote)))
	}
	return text
}

// mergerText is whoever merges.
func mergerText(j jobs.Job, why kanban.Reason) ui.Sentence {
	switch {
	case why.Merge.How == kanban.MergeOfNothing:
		return ui.Text("It has nothing to merge and is completed as it is")
	case len(why.Keys) > 0:
		return append(ui.Say(), append(web.AndSpans(KeyLinks(why.Keys)), ui.T(" merges it"))...)
	case why.Merge.Who == jobs.MergeByPerson && j.Repo == "" && j.ApprovedHead != "":
		return ui.Text("It names no repo, so a person merges it and marks it as merged")
	case why.Merge.Who == jobs.MergeByPerson:
		return ui.Text("A person merges it and marks it as merged")
	case why.Merge.Who == jobs.MergeByPullRequest:
		return ui.Say(ui.T("A factory that opens pull requests of "), ui.Name(j.Repo), ui.T(" merges it"))
	}
	return ui.Say(ui.T("A factory with "), ui.Name(j.Repo), ui.T(" merges it"))
}

// mergeHow is the branch and the way, where there are some.
func mergeHow(w kanban.Way) ui.Sentence {
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
