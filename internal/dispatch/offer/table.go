package offer

import (
	"cmp"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/dispatch/score"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// MaxTurns is how often one version of a job is offered before it is open to all.
const MaxTurns = 3

// Terms are how a workspace offers its jobs.
type Terms struct {
	Stands   time.Duration // how long an offer does
	Affinity time.Duration // how long a job waits for a factory that has its files and no seat
	Weights  score.Weights
}

// NewTerms returns the terms that settings say.
func NewTerms(s setting.Settings) Terms {
	return Terms{Stands: time.Duration(s.OfferSeconds) * time.Second, Affinity: time.Duration(s.AffinitySeconds) * time.Second,
		Weights: s.Weights}
}

// Bound is for how long a job can be kept from a claim that could have it, for the sake of other
// factories. It is counted from the first such claim.
func (t Terms) Bound() time.Duration { return t.Affinity + MaxTurns*t.Stands }

// Last is the last offer of a job, with ages at the moment when it was read.
type Last struct {
	FactoryID  ids.ID
	Factory    string
	Score      float64
	Turn       int
	Tried      []string // factories that the version was offered to
	ExpiresAt  time.Time
	Stands     time.Duration // left
	SinceFirst time.Duration // that somebody was passed over
}

// Ready is a ready job.
type Ready struct {
	decision.Job
	Last *Last // of this version of the job; nil where there was none
}

// Verdict is who may take a ready job now.
type Verdict struct {
	// To is the factory that may take it before the others, "" where all may.
	To    string
	score float64 // of To

	compared decision.Compared // of one that no offer stands of
	alike    []string          // factories that suit it as well as To
	stands   bool              // it is offered to To already
	turn     int               // of the offer that is to be made of it where nobody takes it now; 0 is a wait
	makes    bool              // such an offer
	lasts    time.Duration
}

// GoesTo reports whether a factory that asks is given the job.
func (v *Verdict) GoesTo(factory string) bool {
	return v.To == "" || v.To == factory || slices.Contains(v.alike, factory)
}

// Table is the factories of a snapshot, and the offers made to them: each holds a seat.
type Table struct {
	*decision.Snapshot
	terms    Terms
	excluded func(decision.Agent, decision.Job) bool
	held     map[ids.ID]seat
	verdicts map[ids.ID]*Verdict
}

// seat is one that is kept free for a job.
type seat struct {
	factory string
	agent   ids.ID
}

// NewTable returns a table with the offers that stand, of jobs in any order. One whose factory could
// not take its job any more has ended. excluded says of which agents a rule keeps a job that the
// snapshot knows nothing of; nil is of none.
func NewTable(s *decision.Snapshot, t Terms, standing []Ready, excluded func(decision.Agent, decision.Job) bool) *Table {
	b := &Table{Snapshot: s, terms: t, excluded: excluded, held: map[ids.ID]seat{}, verdicts: map[ids.ID]*Verdict{}}
	standing = slices.Clone(standing)
	slices.SortFunc(standing, func(x, y Ready) int {
		return cmp.Or(x.Last.ExpiresAt.Compare(y.Last.ExpiresAt), slices.Compare(x.ID[:], y.ID[:]))
	})
	for _, j := range standing {
		if b.hold(j, j.Last.Factory) {
			b.verdicts[j.ID] = &Verdict{To: j.Last.Factory, score: j.Last.Score, stands: true}
		}
	}
	return b
}

// Stands reports whether a job is offered to a factory that can take it.
func (b *Table) Stands(job ids.ID) (factory string, stands bool) {
	v := b.verdicts[job]
	if v == nil || !v.stands {
		return "", false
	}
	return v.To, true
}

// hold keeps a seat of a factory free for a job, false where it has none for it.
func (b *Table) hold(j Ready, factory string) bool {
	agent, found := b.FindAgent(factory, j.Job, func(a decision.Agent) bool { return b.excluded != nil && b.excluded(a, j.Job) })
	if found {
		b.Take(factory, agent)
		b.held[j.ID] = seat{factory, agent}
	}
	return found
}

// Judge says who may take a job now. The first factory keeps a seat for it.
func (b *Table) Judge(j Ready) *Verdict {
	if v := b.verdicts[j.ID]; v != nil {
		return v
	}
	v := &Verdict{compared: b.compare(j)}
	b.verdicts[j.ID] = v
	last := j.Last
	if last == nil {
		last = &Last{}
	} else if last.SinceFirst >= b.terms.Bound() || last.Turn >= MaxTurns {
		return v
	}
	if warm := v.compared.AwaitsWarm(); warm != "" && last.Turn == 0 && j.Waiting < b.terms.Affinity {
		v.To, v.makes, v.lasts = warm, j.Last == nil, b.terms.Affinity-j.Waiting
		if s, found := v.compared.Find(warm); found {
			v.score = s.Score
		}
		return v
	}
	for _, c := range v.compared.Candidates {
		if !c.Eligible {
			break
		}
		if slices.Contains(last.Tried, c.Factory) {
			continue
		}
		if v.To == "" && b.hold(j, c.Factory) {
			v.To, v.score, v.makes, v.turn, v.lasts = c.Factory, c.Score, true, last.Turn+1, b.terms.Stands
		} else if v.To != "" && v.score-c.Score <= score.Tie {
			v.alike = append(v.alike, c.Factory)
		}
	}
	return v
}

// compare puts the factories in their order for a job.
func (b *Table) compare(j Ready) decision.Compared { return b.Compare(j.Job, b.terms.Weights) }

// Give counts a job as taken by an agent, and returns how the factories compare for it and who has
// decided that.
func (b *Table) Give(j Ready, factory string, agent ids.ID) (c decision.Compared, by string) {
	v := b.Judge(j)
	if s, held := b.held[j.ID]; held {
		b.Free(s.factory, s.agent)
		delete(b.held, j.ID)
	}
	c, by = v.compared, decision.ByScorer
	if v.stands {
		c = b.compare(j)
	}
	if v.To == "" {
		by = decision.ByPull
	}
	b.Take(factory, agent)
	v.makes = false
	return c, by
}

// Made is an offer that is to be written.
type Made struct {
	Offer

	Score float64
	Turn  int // 0 is a wait for a factory that has no seat
	Lasts time.Duration
}

// Makes returns the offer that a job is to get since somebody was passed over, false where it gets
// none: it was taken, one stands, or it is open to all.
func (b *Table) Makes(j Ready) (Made, bool) {
	v := b.verdicts[j.ID]
	if v == nil || !v.makes {
		return Made{}, false
	}
	return Made{Offer: Offer{Job: j.ID, Version: int64(j.Version), FactoryID: b.FactoryID(v.To), Factory: v.To},
		Score: v.score, Turn: v.turn, Lasts: v.lasts}, true
}
