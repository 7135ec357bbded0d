package notifications

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/status"
)

// decision is something that waits for a person.
type decision struct {
	id     string // such as review:<id of the job>
	kind   Kind
	job    *ids.ID
	stamp  string // what it is about: another attempt is another thing to decide on
	title  string
	detail string
	path   string // of the page on which it is decided; of a review without version and head
}

// outcome is what became of a decision that is open no more.
type outcome struct {
	text string // "FB-2 was approved by Mara"
	by   string // id of the person who decided, "" where it was none
}

const (
	maxTitle   = 140 // characters
	maxDetail  = 300
	maxOutcome = 200
	maxName    = 60
)

// oneLine returns a text of others as one line of at most limit characters: without control
// characters and marks that turn the direction of what follows.
func oneLine(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		text = strings.TrimSpace(string(runes[:limit-1])) + "…"
	}
	return text
}

// openJob is a job as it is told of.
type openJob struct {
	id              ids.ID
	key, title      string
	status          status.Status
	since           time.Time
	by, byID        string
	epoch           int64
	question, error string
	asks            bool
	verifying       bool // an agent verifies its work, or is expected to
}

// decision returns what waits for a person at a job, false for nothing.
func (j openJob) decision() (decision, bool) {
	d := decision{job: &j.id, path: "/jobs/" + j.key}
	title := oneLine(j.title, maxTitle)
	switch {
	case j.verifying:
		return d, false
	case j.status == status.InReview:
		d.kind, d.title, d.detail, d.path = Review, "Review "+j.key+": "+title, "An agent has handed in its work.", "/review?job="+j.key
		d.stamp = fmt.Sprint(j.epoch)
	case j.asks:
		d.kind, d.title, d.detail = Question, j.key+" asks: "+oneLine(j.question, maxTitle), title
		d.stamp = fmt.Sprint(j.epoch, " ", j.since.UnixMicro())
	case j.status == status.Failed:
		d.kind, d.title, d.detail = Failed, j.key+" failed: "+title, oneLine(j.error, maxDetail)
		d.stamp = fmt.Sprint(j.epoch, " ", j.since.UnixMicro())
	default:
		return d, false
	}
	d.id = string(d.kind) + ":" + j.id.String()
	return d, true
}

// outcome returns what became of a decision about the job.
func (j openJob) outcome() outcome {
	return outcome{oneLine(j.key+" is "+j.status.Words()+" now, by "+cmp.Or(oneLine(j.by, maxName), "the system"), maxOutcome), j.byID}
}

func budgetDecision(id ids.ID, name string, period time.Time) decision {
	return decision{id: string(Budget) + ":" + id.String(), kind: Budget, stamp: period.UTC().Format(time.RFC3339),
		title: "The budget " + oneLine(name, maxName) + " is used up", detail: "Its jobs wait until somebody raises it or leaves it so.",
		path: "/budgets"}
}

func agentDecision(id ids.ID, name, factory, boot string) decision {
	return decision{id: string(AgentDead) + ":" + id.String(), kind: AgentDead, stamp: oneLine(boot, 128),
		title:  "The agent " + oneLine(name, maxName) + " of " + oneLine(factory, maxName) + " is dead",
		detail: "No heartbeat came in time. Its jobs were taken back.", path: "/agents"}
}

func stopDecision(id ids.ID, product, reason, by string, at time.Time) decision {
	what := "The fleet"
	if product != "" {
		what = "The product " + oneLine(product, maxName)
	}
	return decision{id: string(Stopped) + ":" + id.String(), kind: Stopped, stamp: fmt.Sprint(at.UnixMicro()),
		title: what + " is stopped by " + oneLine(by, maxName), detail: oneLine(reason, maxDetail), path: "/stop"}
}
