package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestHealthByTheAgeOfTheLastHeartbeat(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	own := 20
	for _, c := range []struct {
		age   time.Duration
		stale *int
		ended string
		want  Health
	}{
		{0, nil, "", Healthy},
		{29 * time.Second, nil, "", Healthy},
		{30 * time.Second, nil, "", Warn},
		{100 * time.Second, nil, "", Stale},
		{299 * time.Second, nil, "", Stale},
		{300 * time.Second, nil, "", Dead},
		// With a stale time of its own the proportions stay: 6, 20 and 60 s.
		{5 * time.Second, &own, "", Healthy},
		{6 * time.Second, &own, "", Warn},
		{20 * time.Second, &own, "", Stale},
		{60 * time.Second, &own, "", Dead},
		{0, nil, "at once", Dead},
		{0, nil, "gracefully", Healthy},
		{300 * time.Second, nil, "gracefully", Dead},
		{300 * time.Second, nil, "by itself", Ended},
	} {
		a := Agent{HeartbeatIntervalSeconds: 10, StaleAfterSeconds: c.stale, LastHeartbeatAt: now.Add(-c.age), Terminated: c.ended != "" && c.ended != "by itself",
			Graceful: c.ended == "gracefully", HasEnded: c.ended == "by itself"}
		if got := a.HealthAt(now); got != c.want {
			t.Errorf("after %s (own stale time %v, ended %q) it is %s; want %s", c.age, c.stale, c.ended, got, c.want)
		}
	}
}

// host returns a live factory with one agent.
func host(name string, seats, taken, room int, offers ...string) Factory {
	return Factory{Name: name, Seats: seats, Taken: taken, Capabilities: offers, Health: Healthy,
		Agents: []Agent{{Name: "claude-of-" + name, MaxConcurrentJobs: room, Health: Healthy}}}
}

func TestRoutingSaysWhoCanAndWhyNot(t *testing.T) {
	able := host("able", 4, 1, 2, "has:git")
	able.OS, able.Engines, able.Repos = "linux", []string{"claude"}, []Repo{{Name: "ledger-api"}}
	draining := able
	draining.Name, draining.Draining = "draining", true
	gone := able
	gone.Name, gone.Health, gone.Agents = "gone", Dead, []Agent{{Name: "x", Health: Dead}}
	lacking := host("lacking", 4, 0, 4)
	byAgent := host("by-agent", 4, 0, 4, "has:git", "os:linux", "repo:ledger-api")
	byAgent.Agents[0].Capabilities = []string{"engine:claude"}

	r := Snapshot{Factories: []Factory{able, draining, gone, lacking, byAgent}}.Route(
		Needs{Repo: "ledger-api", Capabilities: []string{"os:linux", "engine:claude", "has:git"}})
	var eligible []string
	for _, f := range r.Eligible {
		eligible = append(eligible, fmt.Sprint(f.Factory.Name, " ", f.Free, " ", f.IdleAgents))
	}
	if got := strings.Join(eligible, ", "); got != "able 2 [claude-of-able], by-agent 4 [claude-of-by-agent]" {
		t.Errorf("eligible: %s", got)
	}
	reasons := map[string]string{}
	for _, f := range r.Ineligible {
		reasons[f.Factory.Name] = f.Reason
	}
	if want := map[string]string{"draining": ReasonDraining, "gone": ReasonDead, "lacking": ReasonMissing}; fmt.Sprint(reasons) != fmt.Sprint(want) {
		t.Errorf("ineligible: %v; want %v", reasons, want)
	}
	if last := r.Ineligible[len(r.Ineligible)-1]; last.Factory.Name != "lacking" || len(last.Missing) != 4 {
		t.Errorf("the farthest miss is %s, which lacks %v", last.Factory.Name, last.Missing)
	}
	named := Snapshot{Factories: []Factory{able, byAgent}}.Route(Needs{Factory: "able"})
	if len(named.Eligible) != 1 || named.Ineligible[0].Reason != ReasonOtherFactory {
		t.Errorf("a named factory: %+v", named)
	}
}

// Every factory is on one side, and is eligible exactly where it lacks nothing,
// lives, does not drain and is the one that was named, if one was.
func TestRoutingLosesNoFactory(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	rapid.Check(t, func(t *rapid.T) {
		var snap Snapshot
		for i := range rapid.IntRange(0, 6).Draw(t, "factories") {
			f := host(fmt.Sprint("f", i), 3, rapid.IntRange(0, 3).Draw(t, "taken"), 2, rapid.SliceOfDistinct(token, rapid.ID).Draw(t, "offers")...)
			f.Draining = rapid.Bool().Draw(t, "draining")
			if rapid.Bool().Draw(t, "dead") {
				f.Health, f.Agents[0].Health = Dead, Dead
			}
			snap.Factories = append(snap.Factories, f)
		}
		n := Needs{Capabilities: rapid.SliceOfDistinct(token, rapid.ID).Draw(t, "needs"), Factory: rapid.SampledFrom([]string{"", "f0", "f9"}).Draw(t, "named")}
		r := snap.Route(n)
		if len(r.Eligible)+len(r.Ineligible) != len(snap.Factories) {
			t.Fatalf("%d + %d of %d", len(r.Eligible), len(r.Ineligible), len(snap.Factories))
		}
		for _, fit := range append(r.Eligible, r.Ineligible...) {
			f := fit.Factory
			has := !slices.ContainsFunc(n.Capabilities, func(need string) bool { return !slices.Contains(f.Capabilities, need) })
			can := has && f.Live() && !f.Draining && (n.Factory == "" || n.Factory == f.Name)
			if can != (fit.Reason == "") {
				t.Fatalf("%s can %t but the reason is %q", f.Name, can, fit.Reason)
			}
			if fit.Free < 0 || fit.Free > f.Seats-f.Taken && fit.Free > 0 {
				t.Fatalf("%s has %d free of %d, %d taken", f.Name, fit.Free, f.Seats, f.Taken)
			}
		}
	})
}

func TestARegistrationIsCheckedByFieldAndScope(t *testing.T) {
	good := Registration{Agent: "claude-1", BootID: "b", Factory: FactoryInfo{Name: "mac-1", OS: "macos", Capabilities: []string{"has:git"}}}.Defaults()
	if err := good.Check(tenancy.Scope{}); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	for field, spoil := range map[string]func(*Registration){
		"agent":                      func(r *Registration) { r.Agent = "a/b" },
		"provider":                   func(r *Registration) { r.Provider = "a\nb" },
		"boot_id":                    func(r *Registration) { r.BootID = "" },
		"capabilities[0]":            func(r *Registration) { r.Capabilities = []string{"NOT"} },
		"max_concurrent_jobs":        func(r *Registration) { r.MaxConcurrentJobs = 101 },
		"factory.name":               func(r *Registration) { r.Factory.Name = "" },
		"factory.os[0]":              func(r *Registration) { r.Factory.OS = "Mac OS" },
		"factory.seats":              func(r *Registration) { r.Factory.Seats = -1 },
		"factory.repos[0].name":      func(r *Registration) { r.Factory.Repos = []Repo{{}} },
		"factory.host":               func(r *Registration) { r.Factory.Host = "a\x00b" },
		"heartbeat_interval_seconds": func(r *Registration) { r.HeartbeatIntervalSeconds = 3601 },
	} {
		r := good
		spoil(&r)
		if err := r.Check(tenancy.Scope{}); !fault.Is(err, fault.Validation) || fault.From(err).Fields[field] == "" {
			t.Errorf("%s: %v %v", field, err, fault.From(err).Fields)
		}
	}
	for name, c := range map[string]struct {
		scope   tenancy.Scope
		allowed bool
	}{
		"its factory":        {tenancy.Scope{Factory: "mac-1"}, true},
		"another factory":    {tenancy.Scope{Factory: "mac-2"}, false},
		"its capabilities":   {tenancy.Scope{Capabilities: []string{"has:git", "os:macos"}}, true},
		"fewer capabilities": {tenancy.Scope{Capabilities: []string{"os:macos"}}, false},
	} {
		err := good.Check(c.scope)
		if c.allowed != (err == nil) || err != nil && !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v; allowed %t", name, err, c.allowed)
		}
	}
}
