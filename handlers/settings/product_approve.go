package settings

import (
	"context"
	"fmt"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
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

// seeFirst is said where the policy is switched on by a person who has not seen what it would have approved.
const seeFirst = "Nothing is saved yet. Below is what the policy would have approved; save again to switch it on."

// preview reads what the policy would have decided about the work of a product within limits.
func (p *productPages) preview(ctx context.Context, who tenancy.Principal, product string, within autoapprove.Settings) (
	*view.PolicyPreview, error,
) {
	found, err := p.Jobs.PreviewAutoApprove(ctx, who, product,
		func(of *autoapprove.Settings) { *of = within.OrDefault() })
	if err != nil {
		return nil, err
	}
	return previewModel(found), nil
}

// limitWords are what a limit is about.
var limitWords = map[string]string{autoapprove.ByPerson: "a person's say", autoapprove.ByCommit: "the commit's name",
	autoapprove.ByReadable: "what cannot be read", autoapprove.ByLines: "the lines", autoapprove.ByFiles: "the files",
	autoapprove.ByPaths: "denied paths", autoapprove.ByVerdict: "the verdict", autoapprove.ByFindings: "findings",
	autoapprove.ByChecks: "checks"}

// decidedWords are what came of work.
var decidedWords = map[string]string{"approved": "Approved", "rejected": "Sent back by a person",
	"sent_back": "Sent back by the policy", "": "Not yet"}

func previewModel(p jobs.Preview) *view.PolicyPreview {
	m := &view.PolicyPreview{Text: fmt.Sprintf("%s of %s would have been approved; people have sent back %s of them.",
		ui.Count(p.Passed), web.Plural(p.Reviewed, "hand-in", "hand-ins"), ui.Count(p.Rejected))}
	if p.Reviewed == 0 {
		m.Text = "Nothing was handed in for a review."
	}
	if p.More {
		m.Text += " There were more; these are the newest."
	}
	for _, h := range p.Held {
		m.Held = append(m.Held, fmt.Sprintf("%s held by %s, %s by that alone",
			ui.Count(h.Count), limitWords[h.Limit], ui.Count(h.Alone)))
	}
	for _, one := range p.Items {
		m.Rows = append(m.Rows, view.PolicyPreviewRow{Job: one.Job, URL: links.Job(one.Job), Title: one.Title,
			Policy: choose(one.Passed, "Approves", "Holds"), Decided: decidedWords[one.Decided], Why: one.Reason})
	}
	return m
}
