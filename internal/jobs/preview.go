package jobs

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// PreviewDays is how far back a preview looks.
	PreviewDays = 30
	// MaxPreview is at how much work it looks.
	MaxPreview = 500
	// MaxPreviewed is how much of that it names.
	MaxPreviewed = 50
	// previewJobs bounds the jobs of a workspace that are looked through, previewAtOnce how much is read at once,
	// and previewBytes how long what was said of one may be.
	previewJobs   = 20_000
	previewAtOnce = 50
	previewBytes  = 2 * autoapprove.MaxPatch
)

// Preview is what the policy would have approved.
type Preview struct {
	Since    time.Time `json:"since"`
	Reviewed int       `json:"reviewed"` // hand-ins that it looked at
	Passed   int       `json:"passed"`   // that every limit lets pass
	// Rejected are those of Passed that people sent back.
	Rejected int  `json:"rejected"`
	More     bool `json:"more"` // there are more than MaxPreview
	// Held says of each limit how many it holds.
	Held  []HeldBy    `json:"held"`
	Items []Previewed `json:"items"` // the newest, those that pass first
}

// HeldBy is how much a limit holds, and how much of that it alone holds.
type HeldBy struct {
	Limit string `json:"limit"`
	Count int    `json:"count"`
	Alone int    `json:"alone"`
}

// Previewed is what would have been decided about work.
type Previewed struct {
	Job     string    `json:"job"`
	Title   string    `json:"title"`
	Attempt int64     `json:"attempt"`
	At      time.Time `json:"at"`
	Decided string    `json:"decided"` // what came of it: approved, rejected by a person, sent_back by the policy, or "" for nothing yet
	Passed  bool      `json:"passed"`
	Reason  string    `json:"reason"`
}

// PreviewAutoApprove returns what the policy would have decided about the work of a product in the last 30 days
// with some settings, whether or not they are on; change makes them of those of the product. Forbidden;
// NotFound; Validation.
func (s *Service) PreviewAutoApprove(ctx context.Context, who tenancy.Principal, name string, change func(*autoapprove.Settings)) (
	p Preview, err error,
) {
	if who.Kind == tenancy.KindAgent || !who.Can(tenancy.ReadBoard) {
		return Preview{}, fault.New(fault.Forbidden, "Only people see what the policy would approve.")
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		p, err = previewTx(ctx, tx, who.Workspace, name, change)
		return err
	})
	return p, err
}

func previewTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string, change func(*autoapprove.Settings)) (
	Preview, error,
) {
	list, err := productsTx(ctx, tx, workspace)
	if err != nil {
		return Preview{}, err
	}
	at := slices.IndexFunc(list, func(p Product) bool { return p.Name == name })
	if at < 0 {
		return Preview{}, noProduct(name)
	}
	limits, problems := list[at].AutoApprove, fault.Problems{}
	change(&limits)
	limits.Check(problems, true)
	if err := problems.Err(); err != nil {
		return Preview{}, err
	}
	found, err := handInsTx(ctx, tx, workspace, list[at].ID)
	if err != nil {
		return Preview{}, err
	}
	t := tally{limits: limits, wanted: list[at].Checks, held: map[string]*HeldBy{}}
	t.Since, t.More = time.Now().AddDate(0, 0, -PreviewDays), len(found) > MaxPreview
	for some := range slices.Chunk(found[:min(len(found), MaxPreview)], previewAtOnce) {
		if err := t.addTx(ctx, tx, workspace, some); err != nil {
			return Preview{}, err
		}
	}
	return t.conclude(), nil
}

// tally counts what the policy would have decided.
type tally struct {
	Preview

	limits       autoapprove.Settings
	wanted       string
	held         map[string]*HeldBy
	pass, remain []Previewed
}

func (t *tally) addTx(ctx context.Context, tx db.Tx, workspace ids.ID, some []handIn) error {
	jobs, epochs := make([]ids.ID, 0, len(some)), make([]int64, 0, len(some))
	for _, r := range some {
		jobs, epochs = append(jobs, r.JobID), append(epochs, r.Epoch)
	}
	rows, err := q.AutoApproveFacts(ctx, tx, previewBytes, jobs, epochs, workspace)
	for _, r := range rows {
		t.add(r)
	}
	return err
}

func (t *tally) add(r handInFacts) {
	o := t.limits.Decide(judge(r, t.wanted))
	one := Previewed{Job: r.Key, Title: r.Title, Attempt: r.Epoch, At: r.At, Decided: nameDecision(r), Passed: o.Passed}
	t.Reviewed++
	if o.Passed {
		one.Reason = autoapprove.Say(o.Limits)
		t.pass = append(t.pass, one)
		t.Passed++
		if one.Decided == "rejected" {
			t.Rejected++
		}
		return
	}
	held := o.Held()
	one.Reason = autoapprove.Say(held)
	t.remain = append(t.remain, one)
	for _, l := range held {
		if t.held[l.Name] == nil {
			t.held[l.Name] = &HeldBy{Limit: l.Name}
		}
		t.held[l.Name].Count++
		if len(held) == 1 {
			t.held[l.Name].Alone++
		}
	}
}

func (t *tally) conclude() Preview {
	t.Held = []HeldBy{}
	for _, name := range autoapprove.Names {
		if h := t.held[name]; h != nil {
			t.Held = append(t.Held, *h)
		}
	}
	all := append(t.pass, t.remain...)
	t.Items = db.OrEmpty(all[:min(len(all), MaxPreviewed)])
	return t.Preview
}

// nameDecision returns what came of work.
func nameDecision(r handInFacts) string {
	switch {
	case r.SentBack:
		return "sent_back"
	case r.Outcome == "rejected":
		return "rejected"
	case r.IsOpen:
		return ""
	}
	return "approved"
}

// judge returns what was known of work as it was handed in.
func judge(r handInFacts, wanted string) autoapprove.Facts {
	f := evidence.FromResult(r.Result, wanted)
	if r.IsLong {
		f.Change.Unread = []string{"what was handed in is longer than is read"}
	}
	if r.Verdict != "" {
		var said verdict.Verdict
		_ = json.Unmarshal(r.Said, &said) // what cannot be read has seen nothing
		said.Verdict = r.Verdict
		f = evidence.FromVerdict(said, r.SaidBy, f.Commit, wanted)
	}
	if r.WantsPerson {
		f.Persons = append(f.Persons, "The job itself wants a person's review.")
	}
	if r.SpokenAbout {
		f.Persons = append(f.Persons, "A person has sent it back or asked for more of it before.")
	}
	return f
}
