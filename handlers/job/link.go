package job

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// linkKind is a type of link as people say it: of the job of the page and the
// other one, and from the other one's side.
type linkKind struct {
	kind        jobs.LinkType
	there, back string
}

// heldParent is a parent that waits for its child.
const heldParent jobs.LinkType = "held-parent"

var linkKinds = []linkKind{
	{jobs.Blocks, "waits for", "is waited for by"},
	{jobs.Parent, "is part of", "has the part"},
	{heldParent, "is part of and holds up", "waits for its part"},
	{jobs.DiscoveredFrom, "was found in", "led to"},
	{jobs.Duplicates, "is the same as", "is the same as"},
	{jobs.Supersedes, "replaces", "is replaced by"},
}

// edgeWords returns the words for a link of a graph.
func edgeWords(e jobs.Edge) linkKind {
	if e.Gate {
		return linkWords(heldParent)
	}
	return linkWords(e.Type)
}

func linkWords(kind jobs.LinkType) linkKind {
	for _, k := range linkKinds {
		if k.kind == kind {
			return k
		}
	}
	word := strings.ReplaceAll(string(kind), "_", " ")
	return linkKind{kind, word, word}
}

// turned marks a kind of the form that goes from the other job to this one.
const turned = "-by"

// kindOptions returns the choices of the form.
func kindOptions() []ui.Option {
	var list []ui.Option
	for _, k := range linkKinds {
		list = append(list, ui.Option{Value: string(k.kind), Label: k.there})
		if k.back != k.there {
			list = append(list, ui.Option{Value: string(k.kind) + turned, Label: k.back})
		}
	}
	return list
}

// listLinks returns the links of the job itself, those that it waits for first.
func listLinks(g jobs.Graph, key string, canWrite bool) []view.Link {
	nodes := map[string]jobs.Node{}
	for _, n := range g.Nodes {
		nodes[n.Key] = n
	}
	var list []view.Link
	for _, e := range g.Edges {
		l := view.Link{Type: string(e.Type)}
		from := key
		switch key {
		case e.Job:
			l.Key, l.Verb = e.DependsOn, edgeWords(e).there
			l.ID, l.Other = "link-"+l.Type+"-"+l.Key, e.DependsOn
		case e.DependsOn:
			l.Key, l.Verb = e.Job, edgeWords(e).back
			l.ID, l.Other, from = "link-"+l.Type+turned+"-"+l.Key, key, e.Job
		default:
			continue
		}
		l.Title, l.Status, l.URL = nodes[l.Key].Title, nodes[l.Key].Status, links.Job(l.Key)
		if canWrite {
			l.RemoveURL = links.JobUnlink(from)
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b view.Link) int { return strings.Compare(b.Verb, a.Verb) })
	return list
}

// link links two jobs. A circle is refused with its path.
func (p *Pages) link(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	job, other := c.Param("key"), otherIn(in)
	name, back := strings.CutSuffix(in.Get("kind"), turned)
	if other == "" {
		return p.linkRefused(c, fault.Invalid("other", "It must name a job."))
	}
	if back {
		job, other = other, job
	}
	kind := jobs.LinkType(name)
	var made jobs.Job
	if kind == heldParent {
		made, err = p.Jobs.LinkParent(c.Request().Context(), who, job, other, true)
	} else {
		made, err = p.Jobs.Link(c.Request().Context(), who, job, other, kind)
	}
	if err != nil {
		return p.linkRefused(c, err)
	}
	return p.linked(c, who, c.Param("key"), ui.Toast{Tone: ui.OK, Title: "Link added",
		Text: made.Key + " " + linkWords(kind).there + " " + other + "."})
}

// otherIn returns the job that was chosen among those found, else the key as it was
// typed.
func otherIn(in url.Values) string {
	if chosen := strings.TrimSpace(in.Get("chosen")); chosen != "" {
		return chosen
	}
	return strings.TrimSpace(in.Get("other"))
}

// unlink takes a link away.
func (p *Pages) unlink(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	kind := jobs.LinkType(in.Get("type"))
	job, err := p.Jobs.Unlink(c.Request().Context(), who, c.Param("key"), in.Get("other"), kind)
	if err != nil {
		return p.linkRefused(c, err)
	}
	return p.linked(c, who, job.Key, ui.Toast{Tone: ui.OK, Title: "Link removed",
		Text: job.Key + " no longer " + linkWords(kind).there + " " + in.Get("other") + "."})
}

// linked answers a change of links with the page that sent it, which may be
// that of either job.
func (p *Pages) linked(c echo.Context, who tenancy.Principal, key string, toast ui.Toast) error {
	if at, err := url.Parse(web.CurrentPath(c.Request())); err == nil && parseKey(at) != "" {
		key = parseKey(at)
	}
	job, err := p.Jobs.Get(c.Request().Context(), who, key)
	if err != nil {
		return err
	}
	return p.changed(c, who, job, &toast, "")
}

// linkRefused says in a sentence why a link cannot be.
func (p *Pages) linkRefused(c echo.Context, err error) error {
	f := fault.From(err)
	text := web.FieldText(err)
	switch path, _ := f.Details["path"].([]string); {
	case f.Code == fault.DependencyCycle && len(path) > 0:
		text = f.Message + " " + strings.Join(path, " → ") + "."
	case f.Code != fault.NotFound && f.Code != fault.Validation && f.Code != fault.InvalidTransition && f.Code != fault.DependencyCycle:
		return err
	}
	if !web.IsHX(c) {
		return p.goBack(c, &ui.Toast{Tone: ui.Bad, Title: "The link was not changed", Text: text})
	}
	return fault.Wrap(err, f.Code, "%s", text)
}

// linkable finds jobs to link with; finished ones too, for a job may be the
// same as one of them.
func (p *Pages) linkable(c echo.Context, who tenancy.Principal) error {
	query := web.SearchText(c.QueryParam("other"))
	var list []view.LinkOption
	if query != "" {
		found, err := p.Jobs.Search(c.Request().Context(), who, query, web.MaxFound+1)
		if err != nil {
			return err
		}
		for _, j := range found {
			if j.Key != c.Param("key") && len(list) < web.MaxFound {
				list = append(list, view.LinkOption{Key: j.Key, Title: j.Title, Status: j.Status})
			}
		}
	}
	return web.Render(c, http.StatusOK, view.LinkOptions(query, list))
}
