package screens

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// maxChanged is how many changed jobs are read one by one. Where more changed at
// once, the columns are read instead: a page shows no more than their beginnings.
const maxChanged = 50

// Update is what has changed on a board since the last one.
type Update struct {
	Cursor string // the place in the log after it
	// Changed are the jobs that events speak of, however many there are.
	Changed []Ref
	// Cards are jobs that changed, as they are now, and those that wait for them.
	// Where more changed than are read one by one, there are none, and all columns
	// are among Touched.
	Cards []Card
	Gone  []ids.ID // jobs that left the board; as far as they were read
	// Touched are the columns that a job entered or left, with the first page
	// that an open filter shows.
	Touched []ColumnPage
	// Needs is set where jobs began or ceased to wait for a person, or may have.
	Needs *Needs
	// Fleet is set where factories or agents changed in a way that shows.
	Fleet *fleet.Snapshot
	// Rules is set where a product changed, and with it what may be claimed.
	Rules bool
	// Reset says that too much was missed: the page is to be fetched anew.
	Reset bool

	supply supply
}

// supply is what the fleet offers, and which agents take jobs: whether work can be verified depends on who
// there is.
type supply struct {
	offers []fleet.Offer
	agents []string
}

func listSupply(snap fleet.Snapshot) supply {
	s := supply{offers: listOffers(snap)}
	for _, f := range snap.Factories {
		for _, a := range f.Agents {
			if f.TakesJobs() && a.TakesJobs() {
				s.agents = append(s.agents, strings.Join([]string{f.Name, a.Name, a.Model, a.Provider}, " "))
			}
		}
	}
	return s
}

// Ref names a job.
type Ref struct {
	ID  ids.ID
	Key string
}

// changes turns events into what they mean for a board now: however often a job
// changed, its card is read once.
func (s *Service) changes(ctx context.Context, who tenancy.Principal, sum summary) (*Update, error) {
	u := &Update{Cursor: sum.cursor, Changed: sum.changed, Rules: sum.rules}
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) error {
		r, err := newReader(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		if len(u.Changed) <= maxChanged {
			if err := u.readCards(r, sum); err != nil {
				return err
			}
		}
		u.supply = listSupply(r.snap)
		verifiers := false // may be others now, for work that is to be verified
		if !slices.Equal(sum.supply.agents, u.supply.agents) {
			if err := r.readLanes(); err != nil {
				return err
			}
			verifiers = slices.ContainsFunc(r.lanes, lane.isForVerifiers)
			sum.hit[Review] = sum.hit[Review] || verifiers
		}
		if err := u.readColumns(r, sum.columns()); err != nil {
			return err
		}
		if sum.needs || verifiers || u.movesVerifyJob(sum.moved) || !sameOffers(sum.supply.offers, u.supply.offers) {
			n, err := r.needs()
			if err != nil {
				return err
			}
			u.Needs = &n
		}
		if sum.fleet {
			u.Fleet = &r.snap
		}
		return nil
	})
	return u, err
}

// readCards reads the jobs that changed, and those whose reason names one that
// moved.
func (u *Update) readCards(r *reader, sum summary) (err error) {
	changed := make([]ids.ID, len(sum.changed))
	for i, ref := range sum.changed {
		changed[i] = ref.ID
	}
	if u.Cards, err = r.cards(changed); err != nil {
		return fmt.Errorf("changed cards: %w", err)
	}
	u.Gone = slices.DeleteFunc(changed, func(id ids.ID) bool {
		return slices.ContainsFunc(u.Cards, func(c Card) bool { return c.Job.ID == id })
	})
	beside, err := r.waitingOn(sum.moved)
	if err != nil {
		return err
	}
	u.Cards = append(u.Cards, missingFrom(u.Cards, beside)...)
	work, err := verifications{r}.verifiedBy(u.Cards)
	u.Cards = append(u.Cards, missingFrom(u.Cards, work)...)
	return err
}

// movesVerifyJob reports whether one of the jobs that moved verifies work: that may wait for a person now, or
// no more.
func (u *Update) movesVerifyJob(moved []ids.ID) bool {
	return slices.ContainsFunc(u.Cards, func(c Card) bool { return c.Job.Kind == jobs.KindVerify && slices.Contains(moved, c.Job.ID) })
}

func (u *Update) readColumns(r *reader, list []Column) error {
	for _, c := range list {
		page, err := r.column(Filter{}, c, "")
		if err != nil {
			return fmt.Errorf("touched column: %w", err)
		}
		u.Touched = append(u.Touched, page)
	}
	return nil
}

func missingFrom(list, more []Card) []Card {
	return slices.DeleteFunc(more, func(c Card) bool {
		return slices.ContainsFunc(list, func(k Card) bool { return k.Job.ID == c.Job.ID })
	})
}

// The events of budgets and of prices, by which jobs may wait or go on.
const (
	budgetEvents = "budget."
	priceEvents  = "price."
)

// The kinds of events of what a page's frame shows of the fleet.
var fleetEvents = []string{"fleet", "factory", "agent"}

// summary is what a run of events is about.
type summary struct {
	cursor  string // after the last of them, "" where there are none
	changed []Ref
	moved   []ids.ID // those of them whose status changed
	hit     map[Column]bool
	rules   bool
	needs   bool            // what waits for a person may be another now
	fleet   bool            // factories, agents or their jobs changed, or what is stopped
	supply  supply          // of the fleet before
	seen    map[ids.ID]bool // changed jobs, and whether they moved
}

func newSummary() summary { return summary{hit: map[Column]bool{}, seen: map[ids.ID]bool{}} }

func summarize(events []eventlog.Event) summary {
	s := newSummary()
	for _, e := range events {
		s.add(e)
	}
	return s
}

func (s *summary) add(e eventlog.Event) {
	s.cursor = e.Cursor.String()
	s.rules = s.rules || e.Type == eventlog.ProductSaved || e.Type == eventlog.ProductDeleted
	kind, _, _ := strings.Cut(string(e.Type), ".")
	s.fleet = s.fleet || slices.Contains(fleetEvents, kind)
	if strings.HasPrefix(string(e.Type), budgetEvents) || strings.HasPrefix(string(e.Type), priceEvents) {
		s.needs, s.hit[Ready], s.hit[Waiting] = true, true, true
	}
	s.needs = s.needs || e.Type == eventlog.LogLost || e.Type == eventlog.LossNoted || e.Type == eventlog.JobVerdictGiven
	if e.JobID == nil {
		return
	}
	s.hit[Ready] = s.hit[Ready] || e.Type == eventlog.JobRanked || e.Type == eventlog.JobUndone
	moved, known := s.seen[*e.JobID]
	if !known {
		s.changed = append(s.changed, Ref{ID: *e.JobID, Key: e.JobKey})
	}
	for _, c := range e.Changes {
		s.needs = s.needs || concerns(c)
		if c.Field == "status" {
			if !moved {
				s.moved, moved = append(s.moved, *e.JobID), true
			}
			s.hit[columnOfValue(c.Old)], s.hit[columnOfValue(c.New)] = true, true
			s.fleet = s.fleet || isHeld(c.Old) != isHeld(c.New)
		}
		if c.Field == "priority" {
			s.hit[Waiting], s.hit[Ready] = true, true
		}
	}
	s.seen[*e.JobID] = moved
}

// columns returns those to be read: all of them where too many jobs changed to look
// at each.
func (s *summary) columns() []Column {
	if len(s.changed) > maxChanged {
		return Columns
	}
	return slices.DeleteFunc(slices.Clone(Columns), func(c Column) bool { return !s.hit[c] })
}

// isHeld reports whether a job of a status takes an agent's seat.
func isHeld(status any) bool {
	return status == string(jobs.Assigned) || status == string(jobs.Running)
}

func columnOfValue(status any) Column {
	text, _ := status.(string)
	return StatusColumn(jobs.Status(text))
}
