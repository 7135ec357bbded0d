package board

import (
	"slices"
	"strconv"
	"unicode/utf8"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/reason"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/natural"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend"
	view "github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// columnEmpty says what would bring a job into an empty column.
var columnEmpty = map[screens.Column]ui.Empty{
	screens.Waiting: {Title: "Nothing waits", Text: "Jobs come here when a dependency, a time or a person holds them back."},
	screens.Ready:   {Title: "Nothing is ready", Text: "A new job comes here as soon as nothing holds it back."},
	screens.Running: {Title: "Nothing runs", Text: "A job comes here when an agent claims it."},
	screens.Review:  {Title: "Review is empty", Text: "A job comes here when an agent hands it in and a person is to decide."},
	screens.Done:    {Title: "Nothing done yet", Text: "Jobs completed in the last 7 days are here."},
	screens.Failed:  {Title: "Nothing failed", Text: "Jobs come here when their retries are used up or somebody cancels them."},
}

// board shows the whole board.
func (l boardView) board(b screens.Board) view.Board {
	m := view.Board{
		Total:    totalText(b.Total, b.TotalCapped),
		Filters:  filterMenus(b, l.filter),
		Active:   activeFilters(l.filter),
		ClearURL: links.BoardWith(links.Filter{Group: l.filter.Group}),
		Grouping: groupMenu(l.filter),
		Search:   searchField(l.filter),
		Note:     l.note(b.Unroutable),
		CanWrite: l.canWrite,
	}
	for _, c := range b.Columns {
		m.Columns = append(m.Columns, l.column(c))
	}
	if b.Total == 0 && !narrowed(l.filter).IsZero() {
		m.NoMatch = noMatch(l.filter)
	}
	return m
}

func totalText(n int, capped bool) string {
	if capped {
		return ui.Count(n) + "+ jobs"
	}
	return web.Plural(n, "job", "jobs")
}

func countText(n int, capped bool) string {
	if capped {
		return ui.Count(n) + "+"
	}
	return ui.Count(n)
}

// boardTitle returns the document's title: "Board (9 running)".
func boardTitle(running int, capped bool) string {
	if running == 0 {
		return "Board"
	}
	return "Board (" + countText(running, capped) + " running)"
}

// column shows one page of a column; its number of jobs is the whole column's.
func (l boardView) column(p screens.ColumnPage) view.Column {
	m := view.Column{
		Name: string(p.Column), Title: jobparts.ColumnTitles[p.Column], Count: countText(p.Count, p.Capped),
		Groups: l.grouped(p.Cards), Empty: columnEmpty[p.Column],
	}
	if !narrowed(l.filter).IsZero() {
		m.Empty = ui.Empty{Title: "No match", Text: "No job of this column passes the filters."}
		if p.Scanned > 0 {
			m.Empty = ui.Empty{Title: "No match yet",
				Text: "None of the next " + ui.Count(p.Scanned) + " jobs passes the filters. “Show more” looks further."}
		}
	}
	m.Spent = spentText(p.Cards)
	if p.Next != "" {
		m.MoreURL = links.BoardColumn(m.Name, p.Next, l.filter)
	}
	switch p.Column {
	case screens.Ready:
		m.Sub = "next first"
		m.About = "From top to bottom, as agents that can run them are given them. Products of one priority take turns by their weights."
	case screens.Running:
		if len(l.snap.Factories) > 0 {
			m.Sub = web.FreeSeats(l.snap)
		}
	case screens.Done:
		m.Sub = "7 days"
	}
	return m
}

// spentText returns what the jobs of cards have cost together, "" where that is nothing.
func spentText(cards []screens.Card) string {
	var sum spend.Nanos
	unpriced := ""
	for _, c := range cards {
		sum += min(c.Spent.Cost, spend.MaxAmount)
		if c.Spent.Unpriced {
			unpriced = " and what is unpriced"
		}
	}
	if sum == 0 {
		return ""
	}
	return sum.String() + unpriced + " spent on the " + web.Plural(len(cards), "job", "jobs") + " shown"
}

// grouped puts the cards under headings, in the order of their names; cards
// that belong nowhere come last.
func (l boardView) grouped(cards []screens.Card) []view.CardGroup {
	byName := map[string]*view.CardGroup{}
	var list []*view.CardGroup
	for _, c := range cards {
		name := groupHeading(l.filter.Group, c.Job)
		g := byName[name]
		if g == nil {
			g = &view.CardGroup{Name: name}
			byName[name] = g
			list = append(list, g)
		}
		g.Cards = append(g.Cards, l.card(c))
	}
	place := func(g *view.CardGroup) string {
		if g.Name == groupNone[l.filter.Group] {
			return string(utf8.MaxRune)
		}
		return g.Name
	}
	slices.SortStableFunc(list, func(a, b *view.CardGroup) int { return natural.Compare(place(a), place(b)) })
	out := make([]view.CardGroup, len(list))
	for i, g := range list {
		out[i] = *g
	}
	return out
}

// groupNone is the heading of cards that have no value to group by.
var groupNone = map[string]string{"phase": "No phase", "repo": "No repo", "factory": "Any factory"}

// groupHeading returns the heading that a job stands under, "" without grouping.
func groupHeading(group string, j jobs.Job) string {
	name := ""
	switch group {
	case "phase":
		name = j.Phase
	case "product":
		name = j.Product
	case "repo":
		name = j.Repo
	case "factory":
		name = j.Factory
		if j.Lease != nil {
			name = j.Lease.Factory
		}
	}
	if name == "" {
		name = groupNone[group]
	}
	return name
}

// maxNoted is how many jobs the note about unroutable ones names.
const maxNoted = 2

// note returns the bar about jobs that no live factory can run, nil for none.
func (l boardView) note(u screens.Unroutable) *ui.Note {
	if u.Count == 0 || l.filter.Unroutable {
		return nil // of those jobs alone the page itself says it
	}
	m := &ui.Note{Tone: ui.Warn, Icon: "unplug", About: ui.AboutUnroutable, Grave: web.GraveUnroutable, List: links.NeedsYou}
	said := []string{strconv.Itoa(u.Count)}
	for _, c := range u.First {
		said = append(said, c.Job.ID.String())
	}
	m.Key = web.NoteKey(said...)
	jobsText := totalText(u.Count, u.Capped)
	m.Strong = jobsText + " cannot run on any live factory."
	for i, c := range u.First[:min(len(u.First), maxNoted)] {
		if i > 0 {
			m.Text = append(m.Text, ui.T(", "))
		}
		m.Text = append(m.Text, ui.T(c.Job.Key+" "))
		m.Text = append(m.Text, reason.LackText(c.Why)...)
	}
	m.Text = append(m.Text, ui.T("."))
	m.ActionLabel, m.ActionMore = "Show", "the "+jobsText
	m.ActionURL = links.BoardWith(links.Filter{Unroutable: true})
	return m
}
