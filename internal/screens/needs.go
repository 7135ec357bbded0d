package screens

import (
	"context"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/eventlog/loss"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// needsCap is where counting what waits for a person ends: pages say "99+".
	needsCap = 100
	// maxNeeds is how much of it is listed.
	maxNeeds = 100
	// needsScan is how many blocked jobs are looked at for questions, and how many ready
	// ones of unroutable lanes are put into order.
	needsScan = 500
	// maxReviews is how many jobs in review are looked at for those that nobody verifies.
	maxReviews = 2000
)

// NeedKind is why a job waits for a person.
type NeedKind string

// The kinds.
const (
	NeedAnswer NeedKind = "question"
	NeedReview NeedKind = "review"
	NeedRoute  NeedKind = "unroutable"
	NeedRetry  NeedKind = "failed"
)

// Count is a number of jobs.
type Count struct {
	Jobs   int
	Capped bool // there are more than Jobs
}

func capped(n int) Count { return Count{Jobs: min(n, needsCap-1), Capped: n >= needsCap} }

// Needs is how many jobs wait for a person: for an answer, a review, a factory that
// can run them, and for somebody who looks why they failed; the budgets that people should
// know of; and the models without a price that they are asked about.
type Needs struct {
	Questions, Reviews, Unroutable, Failed Count
	Budgets                                []budgets.Notice
	Models                                 []prices.Unpriced // that a budget asks about, the oldest question first
	Losses                                 []loss.Loss       // of the log, that no person has noted
	Webhooks                               []webhooks.Notice // that the server has disabled
}

// UsedUp returns the budgets that wait for a person to raise them or to leave them used up.
func (n Needs) UsedUp() (list []budgets.Notice) {
	for _, b := range n.Budgets {
		if b.UsedUp {
			list = append(list, b)
		}
	}
	return list
}

// All returns how many there are of all kinds.
func (n Needs) All() Count {
	sum := len(n.UsedUp()) + len(n.Models) + len(n.Losses) + len(n.Webhooks)
	for _, c := range []Count{n.Questions, n.Reviews, n.Unroutable, n.Failed} {
		if c.Capped {
			return c
		}
		sum += c.Jobs
	}
	return capped(sum)
}

// Need is a job that waits for a person.
type Need struct {
	Kind NeedKind
	Card
}

// NeedsPage is what waits for a person, the oldest first.
type NeedsPage struct {
	Count Needs
	List  []Need
	More  bool // there are more than listed
}

// Frame is what every page shows around what it is about, at one moment.
type Frame struct {
	Cursor string // the place in the log from which on the page is to be kept up to date
	Fleet  fleet.Snapshot
	Needs  Needs
}

// Frame reads what every page shows around what it is about.
func (s *Service) Frame(ctx context.Context, who tenancy.Principal) (Frame, error) {
	var f Frame
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) error {
		// The place in the log first: what happens from here on is news.
		cursor, err := eventlog.HeadTx(ctx, tx)
		if err != nil {
			return err
		}
		r, err := newReader(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		f.Cursor, f.Fleet = cursor.String(), r.snap
		f.Needs, err = r.needs()
		return err
	})
	return f, err
}

// Needs counts what waits for a person, for the frame of every page.
func (s *Service) Needs(ctx context.Context, who tenancy.Principal, snap fleet.Snapshot) (Needs, error) {
	var n Needs
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) (err error) {
		r := &reader{ctx: ctx, tx: tx, workspace: who.Workspace, snap: snap}
		n, err = r.needs()
		return err
	})
	return n, err
}

// NeedsPage reads what waits for a person.
func (s *Service) NeedsPage(ctx context.Context, who tenancy.Principal, snap fleet.Snapshot) (NeedsPage, error) {
	var page NeedsPage
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) (err error) {
		r := &reader{ctx: ctx, tx: tx, workspace: who.Workspace, snap: snap}
		if page.Count, err = r.needs(); err != nil {
			return err
		}
		page.List, page.More, err = r.needsList()
		return err
	})
	return page, err
}

func (r *reader) needs() (Needs, error) {
	n, err := r.jobNeeds()
	if err != nil {
		return n, err
	}
	var models []prices.Unpriced
	err = r.tx.Pipeline(r.ctx, func(tx db.Tx) (err error) {
		n.Budgets, err = budgets.NoticesTx(r.ctx, tx, r.workspace)
		return err
	}, func(tx db.Tx) (err error) {
		models, err = prices.UnpricedTx(r.ctx, tx, r.workspace)
		return err
	}, func(tx db.Tx) (err error) {
		n.Losses, err = loss.OpenTx(r.ctx, tx, r.workspace)
		return err
	}, func(tx db.Tx) (err error) {
		n.Webhooks, err = webhooks.DisabledTx(r.ctx, tx, r.workspace)
		return err
	})
	if err != nil || !slices.ContainsFunc(models, func(u prices.Unpriced) bool { return u.Decision == prices.Undecided }) {
		return n, err
	}
	book, err := prices.BookTx(r.ctx, r.tx, r.workspace)
	n.Models = book.Open(time.Now())
	return n, err
}

// jobNeeds counts the jobs that wait for a person. The pools are read only where a job waits that no
// live factory can run.
func (r *reader) jobNeeds() (Needs, error) {
	unserved, err := r.unservedLanes()
	if err != nil {
		return Needs{}, err
	}
	n, err := r.countNeeds(unserved)
	if err != nil || n.Unroutable.Jobs == 0 && !slices.ContainsFunc(unserved, lane.isForVerifiers) {
		return n, err
	}
	lanes, err := r.unroutableLanes()
	if err != nil || len(lanes) == len(unserved) {
		return n, err
	}
	return r.countNeeds(lanes)
}

func (r *reader) needsList() (list []Need, more bool, err error) {
	lanes, err := r.unroutableLanes()
	if err != nil {
		return nil, false, err
	}
	found, kinds, err := r.oldestNeeds(lanes)
	if err != nil {
		return nil, false, err
	}
	if more = len(found) > maxNeeds; more {
		found = found[:maxNeeds]
	}
	cards, err := r.cards(found)
	for _, c := range cards {
		n := Need{Kind: kinds[c.Job.ID], Card: c}
		switch {
		case n.Kind == NeedRoute:
			// Whatever else holds it: this is about the fleet.
			n.Why = routeReason(r.route(c.Job.LaneID, toNeeds(c.Job)))
		case c.Verified != nil:
			n.Why = verifications{r}.reason(c.Job, *c.Verified)
		}
		list = append(list, n)
	}
	return list, more, err
}

// pageCards reads the jobs of a page. In the column Waiting those that wait for an
// answer stand on top of the first page, also those that it would not reach, and are
// left out of later ones. Where the first page is the last one there is nothing to look
// for; with a filter only what is on it is put into order.
func (r *reader) pageCards(f Filter, c Column, list []ids.ID, at cursor, last bool) ([]Card, error) {
	if c != Waiting {
		return r.cards(list)
	}
	if f.IsZero() && (!at.start || !last) {
		questions, err := r.openQuestions()
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(id ids.ID) bool { return slices.Contains(questions, id) })
		if at.start {
			list = slices.Concat(questions, list)
		}
	}
	cards, err := r.cards(list)
	if at.start {
		inQuestionOrder(cards)
	}
	return cards, err
}

// inQuestionOrder is a page with the jobs that wait for an answer on top.
func inQuestionOrder(cards []Card) {
	slices.SortStableFunc(cards, func(a, b Card) int {
		switch {
		case a.Job.Asks() == b.Job.Asks():
			return 0
		case a.Job.Asks():
			return -1
		default:
			return 1
		}
	})
}

// A job begins or ceases to wait for a person where its status becomes one of begins
// or was one of ends, and where it asks. A job that is ready may be unroutable.
var (
	begins = []string{string(jobs.Ready), string(jobs.InReview), string(jobs.Failed)}
	ends   = append([]string{string(jobs.Blocked)}, begins...)
)

// routed are the fields that say which factories can run a job.
var routed = []string{"capabilities", "factory", "repo"}

// concerns reports whether a change can be one of what waits for a person. A claim
// cannot: what an agent takes was not unroutable.
func concerns(c eventlog.Change) bool {
	if c.Field != "status" {
		return c.Field == "question" || slices.Contains(routed, c.Field)
	}
	from, _ := c.Old.(string)
	to, _ := c.New.(string)
	claimed := from == string(jobs.Ready) && to == string(jobs.Assigned)
	return !claimed && (slices.Contains(begins, to) || slices.Contains(ends, from))
}
