package settings

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/natural"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// reviewLoad is how many jobs of each product, by name, wait for a decision.
type reviewLoad struct {
	jobs map[string]int
	more bool // there are more than were counted
}

// text is "2", or "2 or more".
func (l reviewLoad) text(product string) string {
	n := ui.Count(l.jobs[product])
	if l.more {
		return n + " or more"
	}
	return n
}

// productPageData is what the list is made of.
type productPageData struct {
	list      []jobs.Product
	inReview  reviewLoad
	canManage bool
}

func (s productPageData) model() view.Products {
	m := view.Products{CanManage: s.canManage, Only: len(s.list) == 1 && s.list[0].Name == jobs.DefaultProduct}
	for _, p := range s.list {
		one := view.Product{Name: p.Name, BoardURL: links.BoardWith(links.Filter{Products: []string{p.Name}}), Repos: p.Repos,
			Review: "Not needed", PerRepo: "Any number", Paused: p.Paused}
		if p.ReviewRequired {
			one.Review = "A person approves"
		}
		switch p.Serialise {
		case jobs.SerialiseRepo:
			one.PerRepo = "One at a time"
		case jobs.SerialisePaths:
			one.PerRepo = "Apart by path"
		}
		one.Limit, one.LimitTone = s.inReview.limit(p)
		if s.canManage {
			one.EditURL = links.Product(p.Name)
			one.PauseURL, one.ResumeURL = pauseURLs(p)
		}
		m.List = append(m.List, one)
	}
	return m
}

// limit is "2 of 5 in review", and a warning where agents get no more.
func (l reviewLoad) limit(p jobs.Product) (string, ui.Tone) {
	n := l.jobs[p.Name]
	switch {
	case p.ReviewLimit == nil && n == 0:
		return "None", ui.Plain
	case p.ReviewLimit == nil:
		return "None, " + l.text(p.Name) + " in review", ui.Plain
	case n >= *p.ReviewLimit:
		return l.text(p.Name) + " in review, limit " + ui.Count(*p.ReviewLimit), ui.Warn
	default:
		return l.text(p.Name) + " of " + ui.Count(*p.ReviewLimit) + " in review", ui.Plain
	}
}

func pauseURLs(p jobs.Product) (pause, resume string) {
	if p.Paused {
		return "", links.ProductAction(p.Name, "resume")
	}
	return links.ProductAction(p.Name, "pause"), ""
}

// productInput is what the form of a product takes.
type productInput struct {
	jobs.ProductSettings

	name string
}

// modelTitles are what pages call the engines that have rows in the table of models.
var modelTitles = map[string]string{"claude": "Claude Code", "codex": "Codex", "opencode": "OpenCode"}

// modelRows are the rows of the table of models.
var modelRows = newModelRows()

func newModelRows() (rows []view.ModelRow) {
	for _, engine := range tiermodel.Programs {
		row := view.ModelRow{Engine: cmp.Or(modelTitles[engine], engine)}
		for _, tier := range tiermodel.Tiers {
			row.Fields = append(row.Fields, modelField(engine, tier))
		}
		rows = append(rows, row)
	}
	return rows
}

func modelField(engine, tier string) string { return "models-" + engine + "-" + tier }

// modelFields are the fields of the table of models.
func modelFields() (list form.Table[productInput]) {
	for _, engine := range tiermodel.Programs {
		for _, tier := range tiermodel.Tiers {
			label := cmp.Or(modelTitles[engine], engine) + ", " + tier
			list = append(list, form.Custom(modelField(engine, tier), label, tiermodel.MaxModel,
				func(in *productInput) string { return in.Models[engine][tier] },
				func(in *productInput, text string) string {
					if in.Models == nil {
						in.Models = tiermodel.Table{}
					}
					in.Models.Set(engine, tier, text)
					return ""
				}).Also("models."+engine+"."+tier))
		}
	}
	return list
}

// otherModels returns the part of a table that has no rows on the page.
func otherModels(all tiermodel.Table) tiermodel.Table {
	other := all.Clone()
	for _, engine := range tiermodel.Programs {
		delete(other, engine)
	}
	return other
}

// productFields are the form of a product. The domain judges what is no number.
var productFields = append(form.Table[productInput]{
	form.Line("name", "Name", jobs.MaxName, func(in *productInput) *string { return &in.name }),
	form.Custom("repos", "Repos", 40_000, func(in *productInput) string { return strings.Join(in.Repos, "\n") },
		func(in *productInput, text string) string {
			in.Repos = splitRepos(text)
			return ""
		}).Lines().Note("one a line"),
	form.Box("review_required", "A person approves", func(in *productInput) *bool { return &in.ReviewRequired }),
	form.Choice("serialise", "Jobs of one repo at once", func(in *productInput) *string { return (*string)(&in.Serialise) }).
		Options(string(jobs.SerialiseNone), "Any number", string(jobs.SerialiseRepo), "One at a time",
			string(jobs.SerialisePaths), "Those that share no path").
		Check(func(in *productInput) string { in.Serialise = cmp.Or(in.Serialise, jobs.SerialiseNone); return "" }),
	form.Number("review_limit", "Review limit", 1, jobs.MaxReviewLimit, func(in *productInput) **int { return &in.ReviewLimit }).
		WithKind(ui.KindWhole).Note("empty is no limit"),
	form.Choice("merge_by", "Approved work is merged by", func(in *productInput) *string { return &in.Merge.By }).
		Options(jobs.MergeByPerson, "A person", jobs.MergeByWorker, "A factory that has the repo",
			jobs.MergeByPullRequest, "A pull request of the forge").
		Check(func(in *productInput) string { in.By = cmp.Or(in.By, jobs.MergeByPerson); return "" }),
	form.Choice("merge_method", "Merged as", func(in *productInput) *string { return &in.Merge.Method }).
		Options(jobs.MergeCommit, "A merge commit", jobs.MergeFastForward, "Fast-forward only").
		Check(func(in *productInput) string { in.Method = cmp.Or(in.Method, jobs.MergeCommit); return "" }),
	form.Line("merge_into", "Into the branch", jobs.MaxMergeInto, func(in *productInput) *string { return &in.Merge.Into }).
		Note("empty is the default one"),
	form.Line("merge_checks", "Checked by the command", jobs.MaxMergeChecks, func(in *productInput) *string { return &in.Merge.Checks }).
		Note("empty is none"),
	form.Line("proof_command", "Proved by the command", jobs.MaxProofCommand, func(in *productInput) *string { return &in.ProofCommand }).
		Note("empty is none"),
	form.Number("branch_retention_days", "Branches stay", 0, jobs.MaxBranchRetention,
		func(in *productInput) **int { return &in.BranchRetention }).WithKind(ui.KindWhole).Note("days; empty is 30"),
	form.Choice("verify_mode", "Verified by", func(in *productInput) *string { return &in.Verify.Mode }).
		Options(jobs.VerifyOff, "Nobody", jobs.VerifyByAgent, "An agent that did not write it").
		Check(func(in *productInput) string { in.Verify.Mode = cmp.Or(in.Verify.Mode, jobs.VerifyOff); return "" }).
		Also("verify.mode"),
	form.Choice("verify_distinct", "Another", func(in *productInput) *string { return (*string)(&in.Verify.Distinct) }).
		Options(string(distinct.ByAgent), "Agent", string(distinct.ByModel), "Model", string(distinct.ByProvider), "Provider").
		Check(func(in *productInput) string {
			in.Verify.Distinct = cmp.Or(in.Verify.Distinct, distinct.ByAgent)
			return ""
		}).
		Also("verify.distinct"),
	form.Number("verify_rounds", "Sent back by verifiers", 0, jobs.MaxRounds, func(in *productInput) **int { return &in.Verify.Rounds }).
		WithKind(ui.KindWhole).Note("times; empty is 2").Also("verify.rounds"),
	form.Custom("verify_capabilities", "Verifiers offer", 4_000,
		func(in *productInput) string { return strings.Join(in.Verify.Capabilities, " ") },
		func(in *productInput, text string) string { in.Verify.Capabilities = strings.Fields(text); return "" }).
		Note("such as has:browser; empty is the repo alone").Also("verify.capabilities"),
}, append(autoApproveFields, modelFields()...)...)

// splitRepos takes apart repos, one a line.
func splitRepos(text string) []string { return web.Distinct(strings.Split(text, "\n")) }

// fillProduct returns the form of a product that is there.
func fillProduct(p jobs.Product) ui.Form {
	return productFields.Fill(productInput{name: p.Name, ProductSettings: p.ProductSettings})
}

// refuseProduct writes into the form why it was refused: what is wrong with repos[2] names
// that repo.
func refuseProduct(f *ui.Form, err error) error {
	if err := productFields.Refuse(f, err); err != nil {
		return err
	}
	byIndex := map[int]string{}
	for field, text := range fault.From(err).Fields {
		if index, indexed := strings.CutPrefix(field, "repos["); indexed {
			n, _ := strconv.Atoi(strings.TrimSuffix(index, "]"))
			byIndex[n] = text
		}
	}
	if text := repoErrors(splitRepos(f.Text("repos")), byIndex); text != "" {
		f.Errors["repos"] = text
	}
	return nil
}

// repoErrors returns the first few sentences about repos, in the order of the form.
func repoErrors(list []string, byIndex map[int]string) string {
	var out []string
	for i, repo := range list {
		text, wrong := byIndex[i]
		if !wrong {
			continue
		}
		if !strings.Contains(text, repo) {
			text = web.FirstLine(repo, 60) + ": " + text
		}
		out = append(out, text)
	}
	if hidden := len(out) - web.MaxListed; hidden > 0 {
		out = append(out[:web.MaxListed], ui.Count(hidden)+" more need a look.")
	}
	return strings.Join(out, " ")
}

// productFormData is what the form's page is made of.
type productFormData struct {
	product  *jobs.Product // nil for a new one
	form     ui.Form
	inReview reviewLoad
	preview  *view.PolicyPreview // nil where nobody asks
}

func (s productFormData) model() view.ProductForm {
	m := view.ProductForm{Form: s.form, New: s.product == nil, SaveURL: links.Products, Models: modelRows}
	if n := len(m.Errors); n > 0 {
		m.Error = "The product was not saved. " + web.Plural(n, "field needs", "fields need") + " another value; your text is kept."
	}
	m.Preview = s.preview
	if s.product == nil {
		return m
	}
	p := *s.product
	m.PreviewURL = links.ProductPreview(p.Name)
	m.OtherModels = otherModels(p.Models).Lines()
	m.Name, m.SaveURL, m.Paused = p.Name, links.Product(p.Name), p.Paused
	m.BoardURL = links.BoardWith(links.Filter{Products: []string{p.Name}})
	m.PauseURL, m.ResumeURL = pauseURLs(p)
	m.Ways = []view.ProductWay{{Icon: "square-kanban", Label: "Its jobs", URL: m.BoardURL},
		{Icon: "plus", Label: "New job", URL: links.NewJobIn(p.Name)},
		{Icon: "history", Label: "Changes of products", URL: links.TimelineWith(links.TimelineFilter{Groups: []string{"products"}})}}
	for _, repo := range p.Repos {
		m.RepoWays = append(m.RepoWays, view.ProductWay{Icon: "folder-git-2", Label: repo,
			URL: links.BoardWith(links.Filter{Products: []string{p.Name}, Repos: []string{repo}})})
	}
	m.InReview = "In review now: " + s.inReview.text(p.Name) + "."
	if p.Name == jobs.DefaultProduct {
		m.Stays = "Jobs that name no product belong to " + p.Name + "; it stays."
		return m
	}
	m.Delete = &ui.Action{Verb: "delete", Label: "Delete product", URL: links.ProductAction(p.Name, "delete"), Danger: true,
		Dialog: &ui.Dialog{Title: "Delete " + p.Name + "?", Keep: "Keep it", Confirm: "Delete product",
			Text: ui.Text("Its repos belong to no product then. A product that has jobs stays.")}}
	return m
}

// whoMerges says who merges from now on.
var whoMerges = map[string]string{jobs.MergeByPerson: "a person merges", jobs.MergeByWorker: "factories merge",
	jobs.MergeByPullRequest: "pull requests merge"}

// perRepo says which jobs of a repo are worked on at once from now on.
var perRepo = map[jobs.Serialise]string{jobs.SerialiseNone: "any number of jobs per repo", jobs.SerialiseRepo: "one job per repo",
	jobs.SerialisePaths: "jobs of a repo share no path"}

// productChanges says in a few words each what differs, but for the pause.
func productChanges(before jobs.Product, in jobs.ProductSettings) []string {
	var list []string
	say := func(differs bool, text string) {
		if differs {
			list = append(list, text)
		}
	}
	added, removed := without(in.Repos, before.Repos), without(before.Repos, in.Repos)
	say(len(added) > 0, "added "+web.JoinAnd(firstNames(added)))
	say(len(removed) > 0, "removed "+web.JoinAnd(firstNames(removed)))
	say(before.ReviewRequired != in.ReviewRequired, choose(in.ReviewRequired, "a person approves", "no review needed"))
	say(cmp.Or(before.Serialise, jobs.SerialiseNone) != in.Serialise, perRepo[in.Serialise])
	was, now := before.Merge, in.Merge
	say(was.By != now.By, whoMerges[now.By])
	say(was.Method != now.Method, choose(now.Method == jobs.MergeFastForward, "merges by fast-forward only", "merges with a merge commit"))
	say(was.Into != now.Into, "merges into "+cmp.Or(now.Into, "the default branch"))
	say(was.Checks != now.Checks, choose(now.Checks == "", "no check after merges", "another check after merges"))
	say(before.ProofCommand != in.ProofCommand, choose(in.ProofCommand == "", "no proofs", "another proof command"))
	say(!before.Models.Equal(in.Models), choose(len(in.Models.Lines()) == 0, "names no models", "names other models"))
	if now := in.BranchRetention; now != nil && *now != before.Retention() {
		list = append(list, "branches stay "+retentionText(*now))
	}
	list = append(list, autoApproveChanges(before.AutoApprove, in.AutoApprove)...)
	if was, now := limitText(before.ReviewLimit), limitText(in.ReviewLimit); was != now {
		list = append(list, "review limit "+was+" to "+now)
	}
	return list
}

// savedToast says what was saved; a change beside it, of somebody else, is not
// in it.
func savedToast(name string, made bool, changes []string) ui.Toast {
	t := ui.Toast{Tone: ui.OK, Title: name + " saved", Text: "Nothing has changed."}
	if made {
		t.Title, t.Text = name+" created", "Jobs of its repos belong to it from now on."
	}
	if len(changes) > 0 && !made {
		text := strings.Join(changes, ", ")
		t.Text = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	return t
}

// without returns the names that are in a list and not in another, in order.
func without(list, other []string) []string {
	out := slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(other, name) })
	natural.Sort(out)
	return out
}

// firstNames names the first of a long list.
func firstNames(list []string) []string {
	if hidden := len(list) - web.MaxListed; hidden > 0 {
		return append(slices.Clone(list[:web.MaxListed]), ui.Count(hidden)+" more")
	}
	return list
}

// retentionText returns how long branches stay.
func retentionText(days int) string {
	if days == 0 {
		return "for ever"
	}
	return web.Plural(days, "day", "days")
}

func limitText(limit *int) string {
	if limit == nil {
		return "none"
	}
	return ui.Count(*limit)
}

func choose(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}
