package decision

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/dispatch/score"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Class says how the factory that got a job compares with the one that suited it best.
type Class string

// The classes.
const (
	Same Class = "same"
	// Tie is of scores that are too close to matter.
	Tie Class = "tie"
	// Stale is of a factory that could not take the job by what was compared, and then could: the
	// fleet has changed meanwhile.
	Stale Class = "stale_snapshot"
	// Infeasible is of a best factory to which no claim would have given the job: a defect.
	Infeasible Class = "infeasible"
	Real       Class = "real"
)

// Classes are all of them.
var Classes = []Class{Same, Tie, Stale, Infeasible, Real}

// Who decides which factory gets a job.
const (
	ByPull   = "pull" // whoever asked first
	ByScorer = "scorer"
	ByPerson = "person" // the job names its factory
)

// Decision is which factory got a job, and how each did.
type Decision struct {
	Epoch  int64     `json:"epoch"`
	At     time.Time `json:"at"`
	Mode   string    `json:"mode"`
	Chosen string    `json:"chosen"`
	By     string    `json:"by"`
	// Best is the factory that suited the job best, "" where there was none.
	Best       string         `json:"best"`
	Class      Class          `json:"class"`
	Why        string         `json:"why"`
	Candidates []score.Scored `json:"candidates"`
	Snapshot   time.Time      `json:"snapshot"` // when what was compared was read

	job ids.ID
}

// New returns the decision about a job that a factory gets, as the factories compared. by is who
// decided it, ByPull or ByScorer; of a job that names its factory a person did.
func New(j Job, chosen, by string, c Compared) Decision {
	n := Decision{Chosen: chosen, By: by, Best: c.Chosen, Candidates: c.Shorten(chosen).Candidates, Snapshot: c.at, job: j.ID}
	if j.Factory != "" {
		n.By = ByPerson
	}
	n.Class, n.Why = classify(c.Decision, chosen, c.feasible)
	return n
}

// classify compares the factory that gets a job with the best one, and says why they differ.
func classify(d score.Decision, chosen string, feasible bool) (Class, string) {
	got, _ := d.Find(chosen)
	best, found := d.Find(d.Chosen)
	switch {
	case !feasible:
		return Infeasible, fmt.Sprintf("No claim would have given it to %s, the best by score.", d.Chosen)
	case !got.Eligible:
		return Stale, fmt.Sprintf("By what was compared %s could not take it (%s), and then it could.", chosen,
			cmp.Or(joinFirst(got.Missing), "not looked at"))
	case !found || chosen == d.Chosen:
		return Same, fmt.Sprintf("No factory suits it better than %s (%.2f).", chosen, got.Score)
	case d.Suits(chosen):
		return Tie, fmt.Sprintf("%s suits it as well as %s (%.2f and %.2f).", chosen, d.Chosen, got.Score, best.Score)
	}
	return Real, fmt.Sprintf("%s suits it better than %s (%.2f against %.2f): %s.", d.Chosen, chosen, best.Score, got.Score,
		Differences(best.Parts, got.Parts))
}

// maxReasons is how many parts an explanation names, or things that a factory lacks.
const maxReasons = 3

// joinFirst joins the first maxReasons of a list, and how many more there are.
func joinFirst(list []string) string {
	if more := len(list) - maxReasons; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxReasons], ", "), more)
	}
	return strings.Join(list, ", ")
}

// Differences names the parts in which the better one is ahead, the largest lead first.
func Differences(better, worse score.Parts) string {
	b, w := better.List(), worse.List()
	at := []int{}
	for i := range b {
		if b[i] > w[i] {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(x, y int) int { return cmp.Compare(b[y]-w[y], b[x]-w[x]) })
	var list []string
	for _, i := range at[:min(len(at), maxReasons)] {
		list = append(list, fmt.Sprintf("%s %.2f against %.2f", strings.ReplaceAll(score.Facts[i].Name, "_", " "), b[i], w[i]))
	}
	return strings.Join(list, ", ")
}

// seconds returns so many of them, as the database says it.
func seconds(n float64) time.Duration {
	return time.Duration(min(max(0, n), math.MaxInt32) * float64(time.Second))
}
