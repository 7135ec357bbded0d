package settings

import (
	"strings"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
	"github.com/fleetboard/fleetboard/views/ui"
)

// The ways in which a form says by what the policy approves.
const (
	byVerdict = "verdict"
	byAuthor  = "author"
)

// autoApproveFields are the fields of what is approved without a person.
var autoApproveFields = form.Table[productInput]{
	form.Box("auto_approve", "The policy approves what is within these limits",
		func(in *productInput) *bool { return &in.AutoApprove.Enabled }).
		Also("auto_approve.enabled"),
	form.Number("auto_max_lines", "Lines", 1, autoapprove.MaxLines, func(in *productInput) **int { return &in.AutoApprove.MaxLines }).
		WithKind(ui.KindWhole).Note("added and removed; empty is 50").Also("auto_approve.max_lines"),
	form.Number("auto_max_files", "Files", 1, autoapprove.MaxFiles, func(in *productInput) **int { return &in.AutoApprove.MaxFiles }).
		WithKind(ui.KindWhole).Note("empty is 5").Also("auto_approve.max_files"),
	form.Custom("auto_by", "It knows the change from", 20,
		func(in *productInput) string { return chooseSource(in.AutoApprove) },
		func(in *productInput, text string) string {
			in.AutoApprove.RequireVerdict = new(text != byAuthor)
			return ""
		}).Options(byVerdict, "A verifier that approves it", byAuthor, "A verifier, else the author alone").
		Also("auto_approve.require_verdict"),
	form.Custom("auto_deny_paths", "Denied paths", autoapprove.MaxDeny*(autoapprove.MaxPattern+1),
		func(in *productInput) string { return strings.Join(in.AutoApprove.DenyPaths, "\n") },
		func(in *productInput, text string) string {
			in.AutoApprove.DenyPaths = splitRepos(text)
			return ""
		}).Lines().Note("one a line; empty are the usual ones").Also("auto_approve.deny_paths"),
}

func chooseSource(s autoapprove.Settings) string {
	if s.RequireVerdict != nil && !*s.RequireVerdict {
		return byAuthor
	}
	return byVerdict
}

// autoApproveChanges says in a few words each what differs.
func autoApproveChanges(before, in autoapprove.Settings) (list []string) {
	was, now := before.OrDefault(), in.OrDefault()
	if was.Enabled != now.Enabled {
		list = append(list, choose(now.Enabled, "the policy approves within its limits", "the policy approves nothing"))
	}
	limits := false
	was.Changes(now, func(field string, differs bool, _, _ any) { limits = limits || differs && field != "auto_approve" })
	if limits {
		list = append(list, "other limits of the policy")
	}
	return list
}
