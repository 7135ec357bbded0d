package kanban

import (
	"slices"
	"testing"
	"time"

	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
)

// host is a factory with one agent that can take as many jobs as it has seats.
func host(name string, seats, taken int, offers ...string) fleet.Factory {
	return fleet.Factory{Name: name, Seats: seats, Taken: taken, Capabilities: offers, Health: fleet.Healthy,
		Agents: []fleet.Agent{{Name: "claude-of-" + name, MaxConcurrentJobs: seats, Taken: taken, Health: fleet.Healthy}}}
}

func TestEveryJobThatDoesNotRunSaysWhy(t *testing.T) {
	later := time.Now().Add(time.Hour)
	free, full := host("linux-2", 4, 2, "os:linux"), host("mac-1", 2, 2, "os:macos", "has:xcode")
	gone := host("linux-5", 4, 0, "engine:codex")
	gone.Health, gone.Agents[0].Health = fleet.Dead, fleet.Dead
	snap := fleet.Snapshot{Factories: []fleet.Factory{free, full, gone}}
	for name, c := range map[string]struct {
		job  jobs.Job
		keys []string
		want Reason
	}{
		"dependency": {jobs.Job{Status: jobs.Waiting, WaitReason: jobs.WaitDependency}, []string{"FB-1"}, Reason{Code: CodeDependency, Keys: []string{"FB-1"}}},
		"time":       {jobs.Job{Status: jobs.Waiting, WaitReason: jobs.WaitNotBefore, NotBefore: &later}, nil, Reason{Code: CodeNotBefore, Until: &later}},
		"backoff": {jobs.Job{Status: jobs.Waiting, WaitReason: jobs.WaitRetryBackoff, NotBefore: &later, LastError: "lint"}, nil,
			Reason{Code: CodeRetryBackoff, Until: &later, Text: "lint"}},
		"paused":   {jobs.Job{Status: jobs.Paused, StatusBy: "Jonas"}, nil, Reason{Code: CodePaused, Text: "Jonas"}},
		"blocked":  {jobs.Job{Status: jobs.Blocked, BlockedReason: "wait"}, nil, Reason{Code: CodeBlocked, Text: "wait"}},
		"question": {jobs.Job{Status: jobs.Blocked, Question: "24 hours?"}, nil, Reason{Code: CodeQuestion, Text: "24 hours?"}},
		"can start": {jobs.Job{Status: jobs.Ready, Capabilities: []string{"os:linux"}}, nil,
			Reason{Code: CodeCanStart, Factories: []string{"linux-2"}, Seats: 4, Free: 2}},
		"seats taken": {jobs.Job{Status: jobs.Ready, Capabilities: []string{"has:xcode"}}, nil,
			Reason{Code: CodeSeatsTaken, Factories: []string{"mac-1"}, Seats: 2}},
		"nobody offers it": {jobs.Job{Status: jobs.Ready, Capabilities: []string{"os:linux", "engine:claude"}}, nil,
			Reason{Code: CodeNoFactory, Nearest: "linux-2", Missing: []string{"engine:claude"}, Text: fleet.ReasonMissing}},
		"only a dead one": {jobs.Job{Status: jobs.Ready, Capabilities: []string{"engine:codex"}}, nil,
			Reason{Code: CodeNoFactory, Nearest: "linux-5", Text: fleet.ReasonDead}},
		"the named one is another": {jobs.Job{Status: jobs.Ready, Factory: "mac-9"}, nil,
			Reason{Code: CodeNoFactory, Nearest: "linux-2", Text: fleet.ReasonOtherFactory}},
		"in review": {jobs.Job{Status: jobs.InReview}, nil, Reason{Code: CodeInReview}},
		"running":   {jobs.Job{Status: jobs.Running}, nil, Reason{}},
	} {
		got := reasonOf(c.job, c.keys, snap)
		if got.Code != c.want.Code || got.Text != c.want.Text || got.Nearest != c.want.Nearest || got.Until != c.want.Until ||
			got.Seats != c.want.Seats || got.Free != c.want.Free || !slices.Equal(got.Keys, c.want.Keys) ||
			!slices.Equal(got.Missing, c.want.Missing) || !slices.Equal(got.Factories, c.want.Factories) {
			t.Errorf("%s: %+v; want %+v", name, got, c.want)
		}
	}
}

// A move on the board is never one that the status table refuses.
func TestMovesFollowTheStatusTable(t *testing.T) {
	for status, list := range moves {
		for _, m := range list {
			if !jobs.Can(status, m.Verb) {
				t.Errorf("a %s card can be moved to %s by %s, which the table refuses", status, m.To, m.Verb)
			}
			if verb, ok := MoveVerb(status, m.To); !ok || verb != m.Verb {
				t.Errorf("%s to %s is %s; want %s", status, m.To, verb, m.Verb)
			}
		}
	}
	for _, status := range jobs.Statuses {
		if status != jobs.Archived && ColumnOf(status) == "" {
			t.Errorf("%s is in no column", status)
		}
	}
}
