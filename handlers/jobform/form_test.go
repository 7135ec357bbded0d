package jobform

import (
	"net/url"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	view "github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/ui"
)

var noon = time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC)

// filled returns a form as a browser sends it.
func filled(change url.Values) url.Values {
	in := url.Values{"idempotency_key": {ids.New().String()}, "title": {"Alpha"}, "priority": {"5"}, "max_retries": {"3"}}
	for name, values := range change {
		in[name] = values
	}
	return in
}

func TestFormNumbersAndTimes(t *testing.T) {
	for name, test := range map[string]struct{ field, value, wrong string }{
		"priority":     {"priority", "11", "priority"},
		"no number":    {"priority", "high", "priority"},
		"retries":      {"max_retries", "-1", "max_retries"},
		"estimate":     {"estimated_minutes", "0", "estimated_minutes"},
		"time":         {"not_before", "tomorrow", "not_before"},
		"year":         {"not_before", "0001-01-01T00:00", "not_before"},
		"review":       {"review_required", "maybe", "review_required"},
		"engine":       {"engine", "BAD engine", "engine"},
		"no title":     {"title", " ", "title"},
		"all is well":  {"not_before", "2030-01-31T18:00:30", ""},
		"blank number": {"priority", "", ""},
	} {
		_, err := fields.Value(fields.Read(filled(url.Values{test.field: {test.value}})))
		wrong := fault.From(err).Fields
		if len(wrong) > 1 || test.wrong != "" && wrong[test.wrong] == "" || test.wrong == "" && len(wrong) > 0 {
			t.Errorf("%s: wrong fields %v, want %q", name, wrong, test.wrong)
		}
	}
}

func TestFaultFieldsComeToTheFieldsOfTheForm(t *testing.T) {
	f := fields.Read(nil)
	if err := refuse(&f, fault.InvalidFields(map[string]string{
		"capabilities[2]": "bad token", "depends_on[0]": "no such job", "title": "too long",
		"secret_keys[1]": "too much", "input_context": "no text", "kind": "not ours"})); err != nil {
		t.Fatal(err)
	}
	byField, rest := f.Errors, f.Error
	if byField["capabilities"] != "bad token" || byField["depends_on"] != "no such job" || byField["title"] != "too long" ||
		byField["secrets"] != "too much" || byField["inputs"] != "no text" || len(byField) != 5 {
		t.Errorf("fields %v", byField)
	}
	if rest != "not ours" {
		t.Errorf("the rest is %q", rest)
	}
}

// theFleet has a factory of every kind.
func theFleet() fleet.Snapshot {
	factory := func(name string, health fleet.Health, change func(*fleet.Factory)) fleet.Factory {
		f := fleet.Factory{Name: name, OS: "linux", Engines: []string{"claude"}, Seats: 2, Health: health,
			LastBeatAt: noon.Add(-3 * time.Second), Repos: []fleet.Repo{{Name: "ledger-api"}},
			Agents: []fleet.Agent{{Name: name + "-a", MaxConcurrentJobs: 2, Health: health}}}
		change(&f)
		return f
	}
	return fleet.Snapshot{Now: noon, Factories: []fleet.Factory{
		factory("linux-2", fleet.Healthy, func(*fleet.Factory) {}),
		factory("linux-3", fleet.Healthy, func(f *fleet.Factory) { f.Draining = true }),
		factory("linux-5", fleet.Dead, func(f *fleet.Factory) {
			f.LastBeatAt = noon.Add(-54 * time.Minute)
			f.Engines = []string{"claude", "codex"}
		}),
		factory("mac-1", fleet.Healthy, func(f *fleet.Factory) { f.OS, f.Repos = "darwin", nil }),
	}}
}

func TestRoutability(t *testing.T) {
	m := routabilityModel(jobs.New{Spec: jobs.Spec{Repo: "ledger-api", Capabilities: []string{"os:linux", "engine:claude"}}}, theFleet(), screens.Start{})
	if m.Title != "1 of 4 factories can run this" || m.Text != "2 seats free, from heartbeats 3s ago" || m.Tone != ui.OK {
		t.Errorf("headline %q, %q, %q", m.Title, m.Text, m.Tone)
	}
	want := map[string]struct {
		kind  view.FitKind
		text  string
		seats string
	}{
		"linux-2": {view.FitYes, "Holds ledger-api. 1 agent idle: linux-2-a.", "2 seats free"},
		"linux-3": {view.FitSoon, "Would fit, but it is draining and takes no new claims.", "drain"},
		"linux-5": {view.FitNo, "Dead, last heard of 54m ago.", "dead"},
		"mac-1":   {view.FitNo, "Misses 2 of 3 needs.", "2 seats free"},
	}
	for _, row := range m.Rows {
		if w := want[row.Name]; row.Kind != w.kind || row.Text != w.text || row.Seats != w.seats {
			t.Errorf("%s: %s %q %q", row.Name, row.Kind, row.Text, row.Seats)
		}
	}
	if len(m.Rows) != 4 || m.RepoHint != "Held by linux-2 and linux-3" {
		t.Errorf("%d rows, hint %q", len(m.Rows), m.RepoHint)
	}
}

func TestWhenItStarts(t *testing.T) {
	evening := noon.Add(6 * time.Hour)
	for name, test := range map[string]struct {
		form  jobs.Spec
		start screens.Start
		want  string
	}{
		"at once":    {want: "Starts at once, unless a more urgent job takes the seat."},
		"dependency": {start: screens.Start{Depends: []jobs.Job{{Key: "FB-1", Status: jobs.Running}, {Key: "FB-2", Status: jobs.Completed}}}, want: "It waits first for FB-1."},
		"time":       {form: jobs.Spec{NotBefore: &evening}, want: "It waits first, until 18:00 UTC."},
		"busy repo": {form: jobs.Spec{Repo: "ledger-api"}, start: screens.Start{Reasons: []screens.Reason{{Code: screens.CodeRepoBusy, Keys: []string{"FB-1"}}}},
			want: "It waits first. Repo busy: FB-1 holds ledger-api."},
		"ahead":       {start: screens.Start{Ahead: 1}, want: "It waits for its turn. 1 job of the same or a higher priority is ahead of it."},
		"far ahead":   {start: screens.Start{Ahead: 100, More: true}, want: "It waits for its turn. More than 100 jobs of the same or a higher priority are ahead of it."},
		"no factory":  {form: jobs.Spec{Capabilities: []string{"engine:cobol"}}, want: "It waits until a factory offers all it needs. See the fleet"},
		"only a dead": {form: jobs.Spec{Capabilities: []string{"engine:codex"}}, want: "It waits until a factory offers all it needs. See the fleet"},
	} {
		if got := routabilityModel(jobs.New{Spec: test.form}, theFleet(), test.start).Foot.String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	busy := theFleet()
	busy.Factories = busy.Factories[:1]
	busy.Factories[0].Taken, busy.Factories[0].Agents[0].Taken = 2, 2
	if got := routabilityModel(jobs.New{}, busy, screens.Start{}); got.Foot.String() != "It waits for a seat. All that could take it are taken." || got.Rows[0].Text != "All its seats are taken." {
		t.Errorf("busy: %q, %q", got.Foot, got.Rows[0].Text)
	}
}

func TestOfflineChoicesStay(t *testing.T) {
	m := pageData{form: fields.Read(url.Values{"repo": {"gone"}, "factory": {"linux-5"}, "engine": {"codex"}, "capabilities": {"gpu:a100", "os:linux"}}), snap: theFleet()}.model()
	last := m.Repo[len(m.Repo)-1]
	if last.Value != "gone" || !last.Offline || !last.Selected {
		t.Errorf("the repo is %+v", last)
	}
	if f := m.Factory[len(m.Factory)-1]; f.Value != "linux-5" || !f.Offline {
		t.Errorf("the factory is %+v", f)
	}
	if e := m.Engines[len(m.Engines)-1]; e.Value != "codex" || !e.Offline || !e.Selected {
		t.Errorf("the engine is %+v", e)
	}
	if !m.Capabilities[0].Offline || m.Capabilities[1].Offline {
		t.Errorf("capabilities %+v", m.Capabilities)
	}
	if web.JoinAnd(m.Offered) != "os:darwin" {
		t.Errorf("offered besides: %v", m.Offered)
	}
}

func TestTheLikelyRepoIsTheDemoOrTheOnlyOne(t *testing.T) {
	for want, held := range map[string][]string{
		"only": {"only"}, "fleetboard-demo": {"api", "fleetboard-demo"}, "demo": {"api", "demo"}, "": {"api", "web"},
	} {
		f := fleet.Factory{Name: "linux-1", Health: fleet.Healthy}
		for _, name := range held {
			f.Repos = append(f.Repos, fleet.Repo{Name: name})
		}
		dead := fleet.Factory{Name: "linux-2", Health: fleet.Dead, Repos: []fleet.Repo{{Name: "gone"}}}
		if got := likelyRepo(fleet.Snapshot{Factories: []fleet.Factory{f, dead}}); got != want {
			t.Errorf("of %v it is %q, want %q", held, got, want)
		}
	}
}
