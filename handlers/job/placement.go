package job

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/dispatch/score"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/ui"
)

// readDecision reads why the factory of the last attempt got the job, where factories were compared.
func (p *Pages) readDecision(ctx context.Context, who tenancy.Principal, d *pageData) error {
	if len(d.Attempts) == 0 {
		return nil
	}
	list, err := p.Dispatch.Decisions(ctx, who, d.job.ID.String())
	if len(list) > 0 && list[0].Epoch == d.Attempts[0].Epoch {
		d.decision = &list[0]
	}
	return err
}

// readDeadOffers reads of which factories a broker told in vain.
func (p *Pages) readDeadOffers(ctx context.Context, who tenancy.Principal, d *pageData) (err error) {
	d.deadOffers, err = p.Announce.JobDeadOffers(ctx, who, d.job.ID)
	return err
}

// placement says why the factory of the last attempt got the job, and why not the others, and which
// factories were told of it in vain; nil where nobody has claimed it and none was told.
func (s pageData) placement() *view.Placement {
	p := &view.Placement{}
	for _, o := range s.deadOffers {
		told := web.Plural(o.Deliveries, "time", "times")
		p.Dead = append(p.Dead, view.DeadOffer{At: ui.Ago(o.At, s.now),
			Text: fmt.Sprintf("%s was offered this job, told so %s, and did not take it:", o.Factory, told)})
	}
	if len(s.Attempts) > 0 {
		s.explainLast(p)
	} else if len(p.Dead) == 0 {
		return nil
	}
	return p
}

// explainLast says why the factory of the last attempt got the job.
func (s pageData) explainLast(p *view.Placement) {
	last := s.Attempts[0]
	p.Text = fmt.Sprintf("%s got it: its agent %s asked first.", last.Factory, last.Agent)
	if s.job.Factory != "" {
		p.Text = fmt.Sprintf("%s got it: the job names this factory.", last.Factory)
	}
	d := s.decision
	if d == nil {
		return
	}
	if d.By == decision.ByScorer {
		p.Text = fmt.Sprintf("%s got it.", d.Chosen)
	}
	p.Text += " " + d.Why
	best := score.Scored{}
	if len(d.Candidates) > 0 {
		best = d.Candidates[0]
	}
	for i, c := range d.Candidates {
		p.Rows = append(p.Rows, placementRow("place-"+strconv.Itoa(i+1), c, best, d.Chosen))
	}
}

// placementRow says how a factory did against the best one.
func placementRow(id string, c, best score.Scored, chosen string) view.PlacementRow {
	r := view.PlacementRow{ID: id, Factory: c.Factory, Chosen: c.Factory == chosen}
	if !c.Eligible {
		list := make([]string, len(c.Missing))
		for i, m := range c.Missing {
			list[i] = missingWords(m)
		}
		r.Why = strings.Join(list, ", ")
		return r
	}
	r.Score = fmt.Sprintf("%.2f", c.Score)
	for i, part := range c.Parts.List() {
		r.Parts = append(r.Parts, fmt.Sprintf("%s %.2f", strings.ReplaceAll(score.Facts[i].Name, "_", " "), part))
	}
	switch {
	case c.Factory == best.Factory:
		r.Why = "the best"
	case best.Score-c.Score <= score.Tie:
		r.Why = "as good as the best"
	default:
		r.Why = decision.Differences(best.Parts, c.Parts)
	}
	return r
}

// missingWords says what keeps a factory from a job; the rest are names of what it lacks.
func missingWords(m string) string {
	switch m {
	case score.OtherFactory:
		return "the job names another one"
	case score.OutOfScope:
		return "may not have the product's jobs"
	case score.Offline:
		return "no agent lives"
	case score.Draining:
		return "takes no new jobs"
	case score.NoEngine:
		return "no engine works"
	case score.Held:
		return "its provider takes no requests"
	case score.OverBudget:
		return "a budget keeps its models from it"
	case score.NoSeat:
		return "no free seat"
	}
	return "lacks " + m
}
