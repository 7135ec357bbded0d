package screens

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// scanRows is how many jobs of a status are looked at, to find those that pass
	// a filter which no index answers. "Show more" goes on behind them.
	scanRows = 4000
	// maxLanes is how many lanes are looked at one by one. What is in more of them
	// is found by walking the column.
	maxLanes = 300
	// failedDays is how far back the column Failed goes: for ever.
	failedDays = 36500
)

// place is a job's place in a column. Of a ready job it is that in the order of claims: its priority
// there, and tieBreak among those at one time.
type place struct {
	id       ids.ID
	priority int
	at       time.Time
	tieBreak string
}

func (p place) cursor() string {
	return fmt.Sprintf("%d.%d.%s.%x", p.priority, p.at.UnixMicro(), p.id, p.tieBreak)
}

// inOrder compares places in a column: the most urgent first and then the oldest, ready jobs as
// claims give them, or, of what is over, the newest.
func (c Column) inOrder(a, b place) int {
	if c == Done || c == Failed {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.id.String(), a.id.String()))
	}
	return cmp.Or(cmp.Compare(b.priority, a.priority), a.at.Compare(b.at), cmp.Compare(a.tieBreak, b.tieBreak),
		cmp.Compare(a.id.String(), b.id.String()))
}

func (r *reader) columns(f Filter, names []Column) ([]ColumnPage, error) {
	list := make([]ColumnPage, 0, len(names))
	for _, c := range names {
		page, err := r.column(f, c, "")
		if err != nil {
			return nil, err
		}
		list = append(list, page)
	}
	return list, nil
}

func (r *reader) column(f Filter, c Column, after string) (ColumnPage, error) {
	page := ColumnPage{Column: c}
	if statuses[c] == nil {
		return page, fault.New(fault.NotFound, "The board has no column %.32s.", c)
	}
	at, err := parseCursor(after)
	if err != nil {
		return page, err
	}
	s, err := r.planScan(f, c)
	if err != nil || s.none() {
		return page, err
	}
	list, err := s.page(at)
	if err != nil {
		return page, err
	}
	var edge *place
	if len(list) <= PageSize {
		if edge, err = s.edge(at); err != nil {
			return page, err
		}
	}
	if edge != nil {
		list = slices.DeleteFunc(list, func(p place) bool { return c.inOrder(p, *edge) > 0 })
		page.Next, page.Scanned = edge.cursor(), scanRows
	}
	if len(list) > PageSize {
		list = list[:PageSize]
		page.Next = list[PageSize-1].cursor()
	}
	if list, err = s.withNamed(list, at); err != nil {
		return page, err
	}
	found := make([]ids.ID, len(list))
	for i, p := range list {
		found[i] = p.id
	}
	if page.Cards, err = r.pageCards(f, c, found, at, page.Next == ""); err != nil {
		return page, err
	}
	if at.start && (page.Next == "" || edge != nil) {
		page.Count, page.Capped = len(list), edge != nil
		return page, nil
	}
	page.Count, page.Capped, err = s.count()
	return page, err
}
