package settings

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
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
		one := view.Product{Name: p.Name, BoardURL: links.BoardWith(links.Filter{Product: p.Name}), Repos: p.Repos,
			Review: "Not needed", PerRepo: "Any number", Paused: p.Paused}
		if p.ReviewRequired {
			one.Review = "A person approves"
		}
		if p.OneJobPerRepo {
			one.PerRepo = "One at a time"
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

// productForm is the form as it was typed.
type productForm struct {
	name, repos, reviewLimit      string
	retention                     string // in days
	reviewRequired, oneJobPerRepo bool
	merge                         jobs.MergePolicy
}

// parseProductForm reads what was sent; nothing is judged yet.
func parseProductForm(in url.Values) productForm {
	return productForm{
		name:           strings.TrimSpace(in.Get("name")),
		repos:          in.Get("repos"),
		reviewLimit:    strings.TrimSpace(in.Get("review_limit")),
		retention:      strings.TrimSpace(in.Get("branch_retention_days")),
		reviewRequired: in.Get("review_required") != "",
		oneJobPerRepo:  in.Get("one_job_per_repo") != "",
		merge: jobs.MergePolicy{
			By:     cmp.Or(in.Get("merge_by"), jobs.MergeByPerson),
			Method: cmp.Or(in.Get("merge_method"), jobs.MergeCommit),
			Into:   strings.TrimSpace(in.Get("merge_into")),
			Checks: strings.TrimSpace(in.Get("merge_checks")),
		},
	}
}

// fillProductForm is the form of a product that is there.
func fillProductForm(p jobs.Product) productForm {
	f := productForm{name: p.Name, repos: strings.Join(p.Repos, "\n"), reviewRequired: p.ReviewRequired, oneJobPerRepo: p.OneJobPerRepo,
		merge: p.Merge, retention: strconv.Itoa(p.BranchRetention)}
	if p.ReviewLimit != nil {
		f.reviewLimit = strconv.Itoa(*p.ReviewLimit)
	}
	return f
}

// repoList are the repos, one a line.
func (f productForm) repoList() []string { return web.Distinct(strings.Split(f.repos, "\n")) }

// settings is what the form asks for, or what is wrong with its numbers by
// field. The domain judges the rest.
func (f productForm) settings(paused bool) (jobs.ProductSettings, map[string]string) {
	wrong := map[string]string{}
	return jobs.ProductSettings{Repos: f.repoList(), ReviewRequired: f.reviewRequired, OneJobPerRepo: f.oneJobPerRepo,
		ReviewLimit: web.NumberChoice("review_limit", f.reviewLimit, 1, jobs.MaxReviewLimit, wrong), Paused: paused, Merge: f.merge,
		BranchRetention: web.NumberChoice("branch_retention_days", f.retention, 0, jobs.MaxBranchRetention, wrong)}, wrong
}

// fieldErrors turns the fields of a fault into those of the form: what is wrong
// with repos[2] names that repo. What belongs to no field is the second result.
func (f productForm) fieldErrors(err error) (byField map[string]string, rest string) {
	byField = map[string]string{}
	repos := map[int]string{}
	for field, text := range fault.From(err).Fields {
		name, index, indexed := strings.Cut(field, "[")
		switch {
		case indexed && name == "repos":
			n, _ := strconv.Atoi(strings.TrimSuffix(index, "]"))
			repos[n] = text
		case slices.Contains(faultyFields, name):
			byField[name] = text
		default:
			rest = text
		}
	}
	if text := f.repoErrors(repos); text != "" {
		byField["repos"] = text
	}
	return byField, rest
}

// repoErrors are the first few sentences about repos, in the order of the form.
func (f productForm) repoErrors(byIndex map[int]string) string {
	list := f.repoList()
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
	form     productForm
	inReview reviewLoad
	wrong    map[string]string
	rest     string // what is wrong beside the fields
}

func (s productFormData) model() view.ProductForm {
	f := s.form
	m := view.ProductForm{
		New:            s.product == nil,
		Name:           f.name,
		SaveURL:        links.Products,
		Repos:          f.repos,
		ReviewRequired: f.reviewRequired,
		OneJobPerRepo:  f.oneJobPerRepo,
		ReviewLimit:    f.reviewLimit,
		MergeBy:        mergeChoices(mergers, f.merge.By),
		MergeMethod: mergeChoices(
			mergeMethods,
			f.merge.Method,
		),
		MergeInto:   f.merge.Into,
		MergeChecks: f.merge.Checks,
		Retention:   f.retention,
		Errors:      s.wrong,
		Error:       s.rest,
	}
	if len(s.wrong) > 0 {
		m.Error = "The product was not saved. " + web.Plural(len(s.wrong), "field needs",
			"fields need") + " another value; your text is kept."
	}
	if s.product == nil {
		return m
	}
	p := *s.product
	m.Name, m.SaveURL, m.BoardURL, m.Paused = p.Name, links.Product(p.Name), links.BoardWith(links.Filter{Product: p.Name}), p.Paused
	m.PauseURL, m.ResumeURL = pauseURLs(p)
	m.Ways = []view.ProductWay{{Icon: "square-kanban", Label: "Its jobs", URL: m.BoardURL},
		{Icon: "plus", Label: "New job", URL: links.NewJobIn(p.Name)},
		{Icon: "history", Label: "Changes of products", URL: links.TimelineWith(links.TimelineFilter{Group: "products"})}}
	for _, repo := range p.Repos {
		m.RepoWays = append(m.RepoWays, view.ProductWay{Icon: "folder-git-2", Label: repo,
			URL: links.BoardWith(links.Filter{Product: p.Name, Repo: repo})})
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

// faultyFields are those of the form that may be wrong.
var faultyFields = []string{"name", "repos", "review_limit", "merge_by", "merge_method", "merge_into", "merge_checks",
	"branch_retention_days"}

// mergers and mergeMethods are what a product's merges may be, the first by default.
var (
	mergers = []view.Choice{
		{Value: jobs.MergeByPerson, Label: "A person"},
		{Value: jobs.MergeByWorker, Label: "A factory that has the repo"},
		{Value: jobs.MergeByPullRequest, Label: "A pull request of the forge"},
	}
	mergeMethods = []view.Choice{
		{Value: jobs.MergeCommit, Label: "A merge commit"},
		{Value: jobs.MergeFastForward, Label: "Fast-forward only"},
	}
)

// whoMerges says who merges from now on.
var whoMerges = map[string]string{jobs.MergeByPerson: "a person merges", jobs.MergeByWorker: "factories merge",
	jobs.MergeByPullRequest: "pull requests merge"}

// mergeChoices are choices with the chosen one marked.
func mergeChoices(all []view.Choice, chosen string) []view.Choice {
	list := slices.Clone(all)
	for i := range list {
		list[i].Chosen = list[i].Value == chosen || chosen == "" && i == 0
	}
	return list
}

// productChanges says in a few words each what differs, but for the pause.
func productChanges(before jobs.Product, in jobs.ProductSettings) []string {
	var list []string
	say := func(differs bool, text string) {
		if differs {
			list = append(list, text)
		}
	}
	added, removed := without(in.Repos, before.Repos), without(before.Repos, in.Repos)
	say(len(added) > 0, "added "+web.And(firstNames(added)))
	say(len(removed) > 0, "removed "+web.And(firstNames(removed)))
	say(before.ReviewRequired != in.ReviewRequired, choose(in.ReviewRequired, "a person approves", "no review needed"))
	say(before.OneJobPerRepo != in.OneJobPerRepo, choose(in.OneJobPerRepo, "one job per repo", "any number of jobs per repo"))
	was, now := before.Merge, in.Merge
	say(was.By != now.By, whoMerges[now.By])
	say(was.Method != now.Method, choose(now.Method == jobs.MergeFastForward, "merges by fast-forward only", "merges with a merge commit"))
	say(was.Into != now.Into, "merges into "+cmp.Or(now.Into, "the default branch"))
	say(was.Checks != now.Checks, choose(now.Checks == "", "no check after merges", "another check after merges"))
	if now := in.BranchRetention; now != nil && *now != before.BranchRetention {
		list = append(list, "branches stay "+retentionText(*now))
	}
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

// without are the names that are in a list and not in another, in order.
func without(list, other []string) []string {
	out := slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(other, name) })
	slices.SortFunc(out, cmp.Compare[string])
	return out
}

// firstNames names the first of a long list.
func firstNames(list []string) []string {
	if hidden := len(list) - web.MaxListed; hidden > 0 {
		return append(slices.Clone(list[:web.MaxListed]), ui.Count(hidden)+" more")
	}
	return list
}

// retentionText is how long branches stay.
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
