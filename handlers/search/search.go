// Package search is the search of the workspace: jobs, messages and the logs of jobs.
package search

import (
	"context"
	"slices"
	"strings"
	"time"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	messageparts "github.com/fleetboard/fleetboard/handlers/parts/message"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	viewparts "github.com/fleetboard/fleetboard/views/messageparts"
	view "github.com/fleetboard/fleetboard/views/search"
	"github.com/fleetboard/fleetboard/views/ui"
)

type site struct{ *web.Site }

// New declares the page.
func New(s *web.Site) web.Page[view.Search] {
	return web.Page[view.Search]{
		Site: s, Path: links.Search, Need: tenancy.ReadBoard, Section: layout.SectionSearch, Title: "Search",
		Read: site{s}.read, View: view.View,
	}
}

// What is searched; "" is all.
const (
	inMessages = "messages"
	inJobs     = "jobs"
	inLogs     = "logs"
)

const (
	// besideOthers is how many hits of a kind stand beside those of others, alone how many without.
	besideOthers = 8
	alone        = 50
)

// asked is a search.
type asked struct {
	in    string
	f     links.SearchFilter
	now   time.Time
	limit int
}

func (s site) read(ctx context.Context, r web.Request) (view.Search, error) {
	q := r.Query
	a := asked{f: links.SearchFilter{Query: web.SearchText(q.Get("q"))}, now: r.Now(), limit: besideOthers}
	for name, list := range a.f.Lists() {
		var err error
		if *list, err = web.FilterValues(q, name); err != nil {
			return view.Search{}, err
		}
	}
	if in := q.Get("in"); in == inMessages || in == inJobs || in == inLogs {
		a.in, a.limit = in, alone
	}
	m := view.Search{In: a.in, Query: a.f.Query, Keep: web.KeepFields(links.SearchFor(a.in, a.f), "q"), Active: a.active(), Tabs: a.tabs()}
	if a.f.Query == "" {
		m.Empty = &ui.Empty{Title: "Write a word to look for",
			Text: "Jobs are found by key, title, description, question, answer and error; messages by all they say; " +
				"logs by their lines, once an attempt has ended."}
		return m, nil
	}
	err := s.look(ctx, r.Who, a, &m)
	if fault.Is(err, fault.Validation) {
		m.Groups, m.Empty, err = nil, &ui.Empty{Title: "Nothing was looked for", Text: web.FieldText(err)}, nil
	}
	return m, err
}

// look runs a search.
func (s site) look(ctx context.Context, who tenancy.Principal, a asked, m *view.Search) error {
	for _, kind := range []struct {
		in   string
		look func(context.Context, tenancy.Principal, asked) (view.Group, error)
	}{{inJobs, s.jobs}, {inMessages, s.messages}, {inLogs, s.logs}} {
		if a.in != "" && a.in != kind.in {
			continue
		}
		g, err := kind.look(ctx, who, a)
		if err != nil {
			return err
		}
		g.ID, g.Title = kind.in, web.Capital(kind.in)
		if len(g.Hits) == 0 && g.Note == "" {
			g.Note = "None has these words."
		}
		if a.in == "" && len(g.Hits) == besideOthers {
			g.More = links.SearchFor(kind.in, a.f)
		}
		m.Groups = append(m.Groups, g)
	}
	return nil
}

func (s site) jobs(ctx context.Context, who tenancy.Principal, a asked) (g view.Group, err error) {
	list, err := s.JobSearch.Find(ctx, who, a.f.Query, a.limit)
	if err != nil {
		return g, err
	}
	named, err := s.Jobs.Search(ctx, who, a.f.Query, a.limit)
	for _, job := range named {
		known := slices.ContainsFunc(list, func(f jobsearch.Found) bool { return f.ID == job.ID })
		if !known && len(list) < a.limit {
			list = append(list, jobsearch.Found{Job: job})
		}
	}
	for _, f := range list {
		g.Hits = append(g.Hits, view.Hit{URL: links.Job(f.Key), Status: jobparts.ShownStatus(f.Job),
			Percent: web.Percent(f.ProgressPercent),
			Key:     f.Key, Title: f.Title, At: ui.For(f.UpdatedAt, a.now), Passage: messageparts.Passage(f.Passage)})
	}
	return g, err
}

func (s site) messages(ctx context.Context, who tenancy.Principal, a asked) (g view.Group, err error) {
	filter := bus.Filter{}
	if a.in == inMessages {
		filter = bus.Filter{Types: a.f.Types, Senders: a.f.Senders, Jobs: a.f.Jobs}
	}
	list, err := s.Bus.Search(ctx, who, a.f.Query, filter, a.limit)
	for _, f := range list {
		g.Hits = append(g.Hits, view.Hit{URL: links.ThreadAt(f.CorrelationID, f.Seq), Icon: "messages-square", Key: f.JobKey,
			Title: messageparts.AddressName(f.From) + " to " + messageparts.AddressName(f.To) + ", " + f.Type, At: ui.For(f.At, a.now),
			Passage: messageparts.Passage(f.Passage)})
	}
	return g, err
}

// logs looks for jobs by what attempts that have ended wrote, each once, or at the newest
// lines of one job.
func (s site) logs(ctx context.Context, who tenancy.Principal, a asked) (g view.Group, err error) {
	if a.in == inLogs && len(a.f.Jobs) > 0 {
		return s.searchJobLogs(ctx, who, a)
	}
	list, err := s.JobSearch.FindLogs(ctx, who, a.f.Query, a.limit)
	for _, f := range list {
		at := f.UpdatedAt
		if f.In.Line != nil {
			at = f.In.Line.ReceivedAt
		}
		g.Hits = append(g.Hits, view.Hit{URL: links.JobLog(f.Key, links.LogView{Text: f.In.Text}), Icon: "scroll-text", Key: f.Key,
			Title: f.Title, At: ui.For(at, a.now), Passage: messageparts.Passage(f.Passage)})
	}
	if a.in == inLogs && len(list) == 0 {
		g.Note = "None has these words. What an attempt wrote is found here once it has ended; name a job to search all of its lines."
	}
	return g, err
}

// searchJobLogs looks at the newest lines of some jobs, also of attempts that go on.
func (s site) searchJobLogs(ctx context.Context, who tenancy.Principal, a asked) (g view.Group, err error) {
	var missing []string
	for _, job := range a.f.Jobs {
		if len(g.Hits) == a.limit {
			break
		}
		key := strings.ToUpper(job)
		list, _, err := s.JobLogs.Logs(ctx, who, key, joblog.Filter{Text: a.f.Query, Limit: a.limit - len(g.Hits)})
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Malformed) {
			missing = append(missing, "There is no job "+job+".")
			continue
		}
		if err != nil {
			return g, err
		}
		for _, l := range list {
			g.Hits = append(g.Hits, view.Hit{URL: links.JobLog(key, links.LogView{Line: l.ID}), Icon: "scroll-text", Key: key,
				Title: l.Agent + ", " + string(l.Level), At: ui.For(l.ReceivedAt, a.now), Passage: marked(l.Message, a.f.Query)})
		}
		if len(a.f.Jobs) == 1 {
			g.More = links.JobLog(key, links.LogView{Text: a.f.Query})
		}
	}
	g.Note = strings.Join(missing, " ")
	return g, nil
}

// active returns the filters that are on where they narrow what is searched.
func (a asked) active() (list []ui.ActiveFilter) {
	names := map[string][]string{inMessages: {"type", "from", "job"}, inLogs: {"job"}}[a.in]
	for _, name := range names {
		values := a.f.Lists()[name]
		for _, v := range *values {
			to := a.f
			less := to.Lists()[name]
			*less = links.Toggle(*less, v)
			list = append(list, ui.ActiveFilter{Text: filterLabels[name] + " " + v, RemoveURL: links.SearchFor(a.in, to)})
		}
	}
	return list
}

var filterLabels = map[string]string{"type": "Type", "from": "Sender", "job": "Job"}

// marked returns a line with the text in it that was looked for.
func marked(line, text string) []viewparts.Piece {
	line = web.Beginning(line, 4*web.MaxQuote)
	at := strings.Index(strings.ToLower(line), strings.ToLower(text))
	if at < 0 || at+len(text) > len(line) {
		return []viewparts.Piece{{Text: line}}
	}
	return []viewparts.Piece{{Text: line[:at]}, {Text: line[at : at+len(text)], Hit: true}, {Text: line[at+len(text):]}}
}

func (a asked) tabs() (list []ui.Tab) {
	for _, t := range []struct{ in, text string }{{"", "All"}, {inJobs, "Jobs"}, {inMessages, "Messages"}, {inLogs, "Logs"}} {
		list = append(list, ui.Tab{Text: t.text, URL: links.SearchFor(t.in, a.f), Current: t.in == a.in})
	}
	return list
}
