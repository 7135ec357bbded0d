package screens

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// host returns a factory with one agent that can take as many jobs as it has seats.
func host(name string, seats, taken int, offers ...string) fleet.Factory {
	return fleet.Factory{Name: name, Seats: seats, Taken: taken, Capabilities: offers, Health: fleet.Healthy,
		Agents: []fleet.Agent{{Name: "claude-of-" + name, MaxConcurrentJobs: seats, Taken: taken, Health: fleet.Healthy}}}
}

// fleetOf has a factory with free seats, one without, one whose agents are
// busy, and one that is dead.
func fleetOf() fleet.Snapshot {
	free, full := host("linux-2", 4, 2, "os:linux"), host("mac-1", 2, 2, "os:macos", "has:xcode")
	busy := host("linux-3", 4, 1, "has:gpu")
	busy.Agents[0].MaxConcurrentJobs, busy.Agents[0].Taken = 1, 1
	gone := host("linux-5", 4, 0, "engine:codex")
	gone.Health, gone.Agents[0].Health = fleet.Dead, fleet.Dead
	drains := host("linux-6", 4, 0, "engine:gemini")
	drains.Draining = true
	limited := host("linux-7", 4, 0, "has:tpu")
	limited.Agents = append(limited.Agents, limited.Agents[0])
	limited.Agents[0].Provider, limited.Agents[0].HeldUntil = "openai", &tomorrow
	limited.Agents[1].Provider, limited.Agents[1].HeldUntil = "anthropic", &soon
	return fleet.Snapshot{Factories: []fleet.Factory{free, full, busy, gone, drains, limited}}
}

var soon, tomorrow = time.Now().Add(time.Minute), time.Now().Add(24 * time.Hour)

// routeIn routes in a fleet.
func routeIn(snap fleet.Snapshot) func(int64, fleet.Needs) fleet.Routing {
	return func(_ int64, n fleet.Needs) fleet.Routing { return snap.Route(n) }
}

func TestEveryStatusAndReasonSaysWhy(t *testing.T) {
	at, later := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	id, product, five := ids.New(), ids.New(), 5
	known := facts{
		route:        routeIn(fleetOf()),
		dependencies: map[ids.ID][]dependency{id: {{"FB-1", jobs.Running}, {"FB-2", jobs.Ready}}},
		repos:        map[string]repoHolder{"ledger": {"FB-9", "claude-1"}},
		backlog:      map[ids.ID]int{product: 5},
		lost:         map[ids.ID]bool{id: true},
	}
	broken := known
	broken.dependencies = map[ids.ID][]dependency{id: {{"FB-1", jobs.Running}, {"FB-3", jobs.Failed}, {"FB-4", jobs.Aborted}}}
	other := ids.New()
	waiting := func(why jobs.WaitReason) jobs.Job {
		return jobs.Job{ID: id, Status: jobs.Waiting, WaitReason: why, StatusAt: at, Spec: jobs.Spec{NotBefore: &later,
			Repo: "ledger",
		}, LastError: "lint", Product: "billing", ProductID: product, ReviewLimit: &five}
	}
	failedOnce := waiting(jobs.WaitRetryBackoff)
	failedOnce.ID = other
	ready := func(needs ...string) jobs.Job {
		return jobs.Job{Status: jobs.Ready, Spec: jobs.Spec{Capabilities: needs}}
	}
	by := func(status jobs.Status) jobs.Job {
		return jobs.Job{Status: status, StatusBy: tenancy.Actor{Name: "Jonas"}, StatusAt: at}
	}
	asked, blocked, failed, cycle, aborted := by(jobs.Blocked), by(jobs.Blocked), by(jobs.Failed), by(jobs.Failed), by(jobs.Aborted)
	asked.Question, asked.BlockedReason, blocked.BlockedReason = "24 hours?", "question", "no contract"
	failed.LastError, cycle.LastError, aborted.LastError = "boom", "dependency_cycle: FB-1 waits for FB-2", "not needed"
	paused, full := ready("os:linux"), ready("os:linux")
	paused.ProductPaused, paused.Product = true, "billing"
	full.ProductID, full.Product, full.ReviewLimit = product, "billing", &five
	running := by(jobs.Running)
	running.Lease = &jobs.Lease{Agent: "claude-1", Factory: "linux-2", ClaimedAt: at}
	assigned := running
	holder := tenancy.Actor{Kind: tenancy.KindAgent, ID: ids.Nil.String(), Name: "claude-1"}
	assigned.Status = jobs.Assigned
	named := ready()
	named.Factory = "mac-9"

	olga := tenancy.Actor{Kind: tenancy.KindPerson, Name: "Olga"}
	stoppedProduct, stoppedFleet := known, known
	stoppedProduct.stops = fleet.Stops{{ProductID: product, Product: "billing", Hold: fleet.HoldAll, Reason: "fire", By: olga, At: at}}
	stoppedFleet.stops = fleet.Stops{{Hold: fleet.HoldClaims, Reason: "night", By: olga, At: at}}
	byStop := jobs.Job{Status: jobs.Paused, ProductID: product, StatusAt: at,
		StatusBy: tenancy.Actor{Kind: tenancy.KindSystem, ID: tenancy.Stop, Name: tenancy.Stop}}

	for name, c := range map[string]struct {
		facts facts
		job   jobs.Job
		want  Reason
	}{
		"its product stopped": {stoppedProduct, full, Reason{Code: CodeStopped, Product: "billing", By: olga, Since: &at, Text: "fire"}},
		"the fleet stopped":   {stoppedFleet, full, Reason{Code: CodeStopped, By: olga, Since: &at, Text: "night"}},
		"another one stopped": {stoppedProduct, ready("os:linux"), Reason{Code: CodeCanStart, Factories: []string{"linux-2"}, Seats: 4, Free: 2}},
		"paused by a stop":    {stoppedProduct, byStop, Reason{Code: CodeStopped, Product: "billing", By: olga, Since: &at, Text: "fire"}},
		"used up meanwhile": {facts{money: money{own: map[ids.ID]bool{byStop.ID: true}}}, byStop,
			Reason{Code: CodeBudget, Since: &at, Text: "Its own budget is used up"}},
		"released this moment": {known, byStop, Reason{Code: CodePaused, By: byStop.StatusBy, Since: &at}},
		"dependency":           {known, waiting(jobs.WaitDependency), Reason{Code: CodeDependency, Keys: []string{"FB-1", "FB-2"}, Since: &at}},
		"failed dependency":    {broken, waiting(jobs.WaitDependency), Reason{Code: CodeDependencyFailed, Keys: []string{"FB-1"}, Since: &at, Ended: []Ended{{"FB-3", jobs.Failed}, {"FB-4", jobs.Aborted}}}},
		"time":                 {known, waiting(jobs.WaitNotBefore), Reason{Code: CodeNotBefore, Since: &at, Until: &later}},
		"backoff":              {known, failedOnce, Reason{Code: CodeRetryBackoff, Since: &at, Until: &later, Text: "lint"}},
		"backoff of a loss":    {known, waiting(jobs.WaitRetryBackoff), Reason{Code: CodeRetryBackoff, Since: &at, Until: &later, Text: "lint", Lost: true}},
		"budget":               {known, waiting(jobs.WaitBudget), Reason{Code: CodeBudget, Since: &at}},
		"repo busy":            {known, waiting(jobs.WaitRepoBusy), Reason{Code: CodeRepoBusy, Since: &at, Keys: []string{"FB-9"}, By: tenancy.Actor{Kind: tenancy.KindAgent, Name: "claude-1"}}},
		"review backlog":       {known, waiting(jobs.WaitReviewBacklog), Reason{Code: CodeReviewBacklog, Since: &at, Product: "billing", Count: 5, Limit: 5}},
		"paused":               {known, by(jobs.Paused), Reason{Code: CodePaused, By: tenancy.Actor{Name: "Jonas"}, Since: &at}},
		"blocked":              {known, blocked, Reason{Code: CodeBlocked, By: tenancy.Actor{Name: "Jonas"}, Since: &at, Text: "no contract"}},
		"question":             {known, asked, Reason{Code: CodeQuestion, By: tenancy.Actor{Name: "Jonas"}, Since: &at, Text: "24 hours?"}},
		"product paused":       {known, paused, Reason{Code: CodeProductPaused, Product: "billing"}},
		"backlog of ready":     {known, full, Reason{Code: CodeReviewBacklog, Since: &time.Time{}, Product: "billing", Count: 5, Limit: 5}},
		"can start":            {known, ready("os:linux"), Reason{Code: CodeCanStart, Factories: []string{"linux-2"}, Seats: 4, Free: 2}},
		"seats taken":          {known, ready("has:xcode"), Reason{Code: CodeSeatsTaken, Factories: []string{"mac-1"}, Seats: 2}},
		"agents busy":          {known, ready("has:gpu"), Reason{Code: CodeAgentsBusy, Factories: []string{"linux-3"}, Seats: 4, Free: 3}},
		"rate limited":         {known, ready("has:tpu"), Reason{Code: CodeProviderHeld, Text: "anthropic", Until: &soon}},
		"nobody offers it":     {known, ready("os:linux", "engine:claude"), Reason{Code: CodeNoFactory, Nearest: "linux-2", Missing: []string{"engine:claude"}, Text: fleet.ReasonMissing}},
		"only a dead one":      {known, ready("engine:codex"), Reason{Code: CodeNoFactory, Nearest: "linux-5", Text: fleet.ReasonDead}},
		"one that drains":      {known, ready("engine:gemini"), Reason{Code: CodeNoFactory, Nearest: "linux-6", Text: fleet.ReasonDraining}},
		"the named one":        {known, named, Reason{Code: CodeNoFactory, Nearest: "linux-2", Text: fleet.ReasonOtherFactory}},
		"no factory at all":    {facts{route: routeIn(fleet.Snapshot{})}, ready(), Reason{Code: CodeNoFactory}},
		"claimed":              {known, assigned, Reason{Code: CodeClaimed, By: holder, Since: &at, Factories: []string{"linux-2"}}},
		"running":              {known, running, Reason{Code: CodeRunning, By: holder, Since: &at, Factories: []string{"linux-2"}}},
		"in review":            {known, by(jobs.InReview), Reason{Code: CodeInReview, Since: &at}},
		"approved":             {known, by(jobs.Approved), Reason{Code: CodeApproved, By: tenancy.Actor{Name: "Jonas"}, Since: &at}},
		"completed":            {known, by(jobs.Completed), Reason{Code: CodeCompleted, By: tenancy.Actor{Name: "Jonas"}, Since: &at}},
		"failed":               {known, failed, Reason{Code: CodeFailed, By: tenancy.Actor{Name: "Jonas"}, Since: &at, Text: "boom"}},
		"cycle":                {known, cycle, Reason{Code: CodeDependencyCycle, By: tenancy.Actor{Name: "Jonas"}, Since: &at, Text: "FB-1 waits for FB-2"}},
		"aborted":              {known, aborted, Reason{Code: CodeAborted, By: tenancy.Actor{Name: "Jonas"}, Since: &at, Text: "not needed"}},
		"archived":             {known, by(jobs.Archived), Reason{Code: CodeArchived, By: tenancy.Actor{Name: "Jonas"}, Since: &at}},
	} {
		if got := c.facts.findReason(c.job); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

// Whatever the status and the wait, and with nothing known beside the job,
// there is a reason with a code.
func TestNoStatusIsWithoutAnExplanation(t *testing.T) {
	waits := jobs.WaitReasons()
	list := make([]jobs.Job, 0, len(jobs.Statuses)+len(waits))
	for _, status := range jobs.Statuses {
		if status != jobs.Waiting {
			list = append(list, jobs.Job{Status: status})
		}
	}
	for _, why := range waits {
		list = append(list, jobs.Job{Status: jobs.Waiting, WaitReason: why})
	}
	for _, j := range list {
		for name, known := range map[string]facts{"no fleet": {route: routeIn(fleet.Snapshot{})}, "a fleet": {route: routeIn(fleetOf())}} {
			e := known.explain(j)
			if len(e.Reasons) == 0 {
				t.Errorf("%s %s with %s: no reason", j.Status, j.WaitReason, name)
			}
			for _, r := range e.Reasons {
				if r.Code == "" {
					t.Errorf("%s %s with %s: a reason without a code", j.Status, j.WaitReason, name)
				}
			}
		}
	}
}

// What stands between a job and its run is all named: a job that waits, is
// parked or paused and that no factory could run says that too.
func TestAnExplanationNamesAllThatStandsInTheWay(t *testing.T) {
	id := ids.New()
	known := facts{route: routeIn(fleetOf()), dependencies: map[ids.ID][]dependency{id: {{"FB-1", jobs.Ready}, {"FB-3", jobs.Failed}}}}
	codes := func(j jobs.Job) string {
		var list []string
		for _, r := range known.explain(j).Reasons {
			list = append(list, r.Code)
		}
		return strings.Join(list, " ")
	}
	for want, j := range map[string]jobs.Job{
		"paused no_factory": {Status: jobs.Paused, Spec: jobs.Spec{Capabilities: []string{"engine:codex"}}},
		"blocked product_paused no_factory": {Status: jobs.Blocked, ProductPaused: true,
			Spec: jobs.Spec{Capabilities: []string{"engine:codex"}}},
		"not_before no_factory": {Status: jobs.Waiting, WaitReason: jobs.WaitNotBefore,
			Spec: jobs.Spec{Factory: "mac-9"}},
		"dependency_failed dependency": {ID: id, Status: jobs.Waiting, WaitReason: jobs.WaitDependency},
		"product_paused no_factory": {Status: jobs.Ready, ProductPaused: true,
			Spec: jobs.Spec{Capabilities: []string{"engine:codex"}}},
		"in_review": {Status: jobs.InReview, ProductPaused: true,
			Spec: jobs.Spec{Capabilities: []string{"engine:codex"}}},
		"dependency product_paused": {Status: jobs.Waiting, WaitReason: jobs.WaitDependency, ProductPaused: true},
		"no_factory":                {Status: jobs.Ready, Spec: jobs.Spec{Capabilities: []string{"engine:codex"}}},
		"retry_backoff product_paused no_factory": {Status: jobs.Waiting, WaitReason: jobs.WaitRetryBackoff, ProductPaused: true,
			Spec: jobs.Spec{Factory: "mac-9"}},
	} {
		if got := codes(j); got != want {
			t.Errorf("%s %s says %q; want %q", j.Status, j.WaitReason, got, want)
		}
	}
	// A key stands in one of the two reasons.
	both := known.explain(jobs.Job{ID: id, Status: jobs.Waiting, WaitReason: jobs.WaitDependency}).Reasons
	if len(both[0].Keys) != 0 || len(both[1].Keys) != 1 || both[1].Keys[0] != "FB-1" {
		t.Errorf("the reasons are %+v", both)
	}
}

// An unanswered question is not dragged away.
func TestAQuestionIsNotDropped(t *testing.T) {
	for _, m := range ListMoves(jobs.Job{Status: jobs.Blocked, Question: "24 hours?"}) {
		if m.Verb == jobs.ByUnblock {
			t.Error("a card that waits for an answer may be moved to ready")
		}
	}
	if len(ListMoves(jobs.Job{Status: jobs.Blocked})) != len(moves[jobs.Blocked]) {
		t.Error("a blocked card lacks a move")
	}
}

// A move on the board is never one that the status table refuses.
func TestMovesFollowTheStatusTable(t *testing.T) {
	for status, list := range moves {
		for to, by := range list {
			if !jobs.Can(status, by) {
				t.Errorf("a %s card can be moved to %s by %s, which the table refuses", status, to, by)
			}
			if verb, whyNot := FindMove(jobs.Job{Status: status}, to); whyNot != "" || verb != by {
				t.Errorf("%s to %s is %s (%s); want %s", status, to, verb, whyNot, by)
			}
		}
	}
	for _, status := range jobs.Statuses {
		for _, to := range Columns {
			if by, whyNot := FindMove(jobs.Job{Status: status}, to); (by == "") == (whyNot == "") {
				t.Errorf("%s to %s is both or neither: %q, %q", status, to, by, whyNot)
			}
		}
		if status != jobs.Archived && StatusColumn(status) == "" {
			t.Errorf("%s is in no column", status)
		}
	}
}
