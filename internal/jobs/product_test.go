package jobs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// put saves a product as an owner.
func (b *bundle) put(name string, in jobs.ProductSettings) (jobs.Product, bool) {
	b.t.Helper()
	p, made, err := b.PutProduct(b.t.Context(), b.owner(), name, in)
	if err != nil {
		b.t.Fatalf("put %s: %v", name, err)
	}
	return p, made
}

func (b *bundle) owner() tenancy.Principal {
	return dbfactory.Person(b.who.Workspace, tenancy.RoleOwner)
}

func TestAProductIsMadeChangedAndTakenAway(t *testing.T) {
	b := setup(t)
	p, made := b.put("ledger", jobs.ProductSettings{Repos: []string{"web", "api", "web"}, ReviewLimit: number(3), Paused: true})
	if !made || strings.Join(p.Repos, " ") != "api web" || *p.ReviewLimit != 3 || !p.Paused {
		t.Errorf("made %t %+v", made, p)
	}
	if _, made = b.put("ledger", jobs.ProductSettings{Repos: []string{"api"}, ReviewRequired: true}); made {
		t.Error("made twice")
	}
	got, err := b.Product(t.Context(), b.who, "ledger")
	if err != nil || got.ID != p.ID || strings.Join(got.Repos, " ") != "api" || got.ReviewLimit != nil || got.Paused || !got.ReviewRequired {
		t.Errorf("read %+v, %v", got, err)
	}
	b.put("ledger", jobs.ProductSettings{Repos: []string{"api"}, ReviewRequired: true}) // nothing new
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM event WHERE type = 'product.saved' AND payload->>'product' = 'ledger'`); n != 2 {
		t.Errorf("%d events; want 2", n)
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM event WHERE type = 'product.saved'
		AND changes @> '[{"field": "review_limit", "old": 3, "new": null}, {"field": "repos", "old": ["api", "web"], "new": ["api"]}]'`); n != 1 {
		t.Errorf("%d events tell what changed", n)
	}
	if err := b.DeleteProduct(t.Context(), b.owner(), "ledger"); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, err := b.Product(t.Context(), b.who, "ledger"); !fault.Is(err, fault.NotFound) {
		t.Errorf("deleted: %v; want not_found", err)
	}
	b.put("ledger", jobs.ProductSettings{})
	b.create(jobs.New{Spec: jobs.Spec{Title: "one"}, Product: "ledger"})
	for name, code := range map[string]fault.Code{"ledger": fault.InUse, "default": fault.InUse, "nope": fault.NotFound} {
		if err := b.DeleteProduct(t.Context(), b.owner(), name); !fault.Is(err, code) {
			t.Errorf("delete %s: %v; want %s", name, err, code)
		}
	}
}

func TestARepoHasOneProduct(t *testing.T) {
	b := setup(t)
	b.put("ledger", jobs.ProductSettings{Repos: []string{"api"}})
	for name, c := range map[string]struct {
		name  string
		in    jobs.ProductSettings
		field string
	}{
		"a taken repo":   {"web", jobs.ProductSettings{Repos: []string{"aaa", "api"}}, "repos[1]"},
		"no name":        {"", jobs.ProductSettings{}, "name"},
		"an odd name":    {"a b", jobs.ProductSettings{}, "name"},
		"an empty repo":  {"web", jobs.ProductSettings{Repos: []string{""}}, "repos[0]"},
		"a limit of nil": {"web", jobs.ProductSettings{ReviewLimit: number(0)}, "review_limit"},
	} {
		_, _, err := b.PutProduct(t.Context(), b.owner(), c.name, c.in)
		if !fault.Is(err, fault.Validation) || fault.From(err).Fields[c.field] == "" {
			t.Errorf("%s: %v %v; want field %s", name, err, fault.From(err).Fields, c.field)
		}
	}
	_, _, err := b.PutProduct(t.Context(), b.who, "web", jobs.ProductSettings{})
	if !fault.Is(err, fault.Forbidden) || !fault.Is(b.DeleteProduct(t.Context(), b.who, "ledger"), fault.Forbidden) {
		t.Errorf("a member: %v; want forbidden", err)
	}

	j := b.create(jobs.New{Spec: jobs.Spec{Title: "mine"}})[0]
	_, err = b.Patch(t.Context(), b.who, j.Key, jobs.Patch{Version: 1, Spec: jobs.Spec{Repo: "api"}, Set: []string{"repo"}})
	if got := fault.From(err).Fields["repo"]; !strings.Contains(got, "ledger") {
		t.Errorf("a repo of another product: %v; want the owner's name", err)
	}
	if _, err = b.Patch(t.Context(), b.who, j.Key, jobs.Patch{Version: 1, Spec: jobs.Spec{Repo: "free"},
		Set: []string{"repo"}}); err != nil {
		t.Errorf("a repo of nobody: %v", err)
	}
}

// What a product begins to forbid waits; what it held before becomes claimable.
func TestAProductsNewSettingsMoveItsJobs(t *testing.T) {
	b := setup(t)
	list := b.create(jobs.New{Spec: jobs.Spec{Title: "a", Repo: "web"}}, jobs.New{Spec: jobs.Spec{Title: "worked on", Repo: "api"}},
		jobs.New{Spec: jobs.Spec{Title: "b", Repo: "web"}, Priority: number(9)}, jobs.New{Spec: jobs.Spec{Title: "c", Repo: "api"}},
		jobs.New{Spec: jobs.Spec{Title: "no repo"}})
	b.lease(list[1])
	b.put("default", jobs.ProductSettings{Serialise: jobs.SerialiseRepo})
	b.is(list[0], jobs.Waiting, jobs.WaitRepoBusy)
	b.is(list[2], jobs.Ready, "")
	b.is(list[3], jobs.Waiting, jobs.WaitRepoBusy)
	b.is(list[4], jobs.Ready, "")
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM repo_slot WHERE job_id IN ($1, $2)`, list[1].ID, list[2].ID); n != 2 {
		t.Errorf("%d of the two have their slot", n)
	}
	b.wakes.topics = nil
	b.put("default", jobs.ProductSettings{})
	b.is(list[0], jobs.Ready, "")
	b.is(list[3], jobs.Ready, "")
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM repo_slot`); n != 0 {
		t.Errorf("%d slots are left", n)
	}
	for _, j := range list {
		if topic := jobs.LaneTopic(b.who.Workspace, j.LaneID); !slices.Contains(b.wakes.topics, topic) {
			t.Errorf("nobody is woken for %s", j.Title)
		}
	}
}

// Also where very many jobs of a repo are ready, none but one stays so: two agents
// would work on the repo else. And all of them come back.
func TestAProductsNewSettingsMoveManyJobs(t *testing.T) {
	b := setup(t)
	many := make([]jobs.New, 450)
	for i := range many {
		many[i] = jobs.New{Spec: jobs.Spec{Title: "a", Repo: "api"}}
	}
	b.create(many...)
	for _, c := range []struct {
		way   jobs.Serialise
		ready int
	}{{jobs.SerialiseRepo, 1}, {jobs.SerialiseNone, len(many)}, {jobs.SerialisePaths, 1}, {jobs.SerialiseRepo, 1}, {jobs.SerialiseNone, len(many)}} {
		b.put("default", jobs.ProductSettings{Serialise: c.way})
		if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM job_ready`); n != c.ready {
			t.Errorf("serialise %s: %d ready; want %d", c.way, n, c.ready)
		}
	}
}

// lease makes a job one that an agent works on.
func (b *bundle) lease(j jobs.Job) {
	b.t.Helper()
	dbfactory.Exec(b.t, b.db, `WITH f AS (
			INSERT INTO factory (workspace_id, id, name) VALUES ($1, gen_random_uuid(), gen_random_uuid()::text) RETURNING id
		), a AS (
			INSERT INTO agent (workspace_id, id, factory_id, name, boot_id)
			SELECT $1, gen_random_uuid(), id, gen_random_uuid()::text, 'b' FROM f RETURNING id, factory_id
		), gone AS (
			DELETE FROM job_ready WHERE job_id = $2
		), taken AS (
			UPDATE job SET status = 'assigned', epoch = epoch + 1 WHERE id = $2 RETURNING epoch
		)
		INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, session_key, request_id, ttl_seconds, expires_at)
		SELECT $1, $2, t.epoch, a.id, a.factory_id, '', '', 900, now() + interval '1 hour' FROM a, taken t`, b.who.Workspace, j.ID)
}

// The ticks of the criteria are kept with their words.
func TestTicksFollowTheirCriteria(t *testing.T) {
	b := setup(t)
	j := b.create(jobs.New{Spec: jobs.Spec{Title: "a", Acceptance: []string{"it builds", "it is tested"}}})[0]
	ticked, err := b.Patch(t.Context(), b.who, j.Key, jobs.Patch{Version: 1, Spec: jobs.Spec{AcceptanceMet: []bool{false, true, true}},
		Set: []string{"acceptance_met"}})
	if err != nil || !slices.Equal(ticked.AcceptanceMet, []bool{false, true}) {
		t.Fatalf("ticks %v, %v", ticked.AcceptanceMet, err)
	}
	criteria := []string{"it is tested", "it is fast"}
	if _, err := b.Patch(t.Context(), b.who, j.Key, jobs.Patch{Version: 2, Spec: jobs.Spec{Acceptance: criteria},
		Set: []string{"acceptance"}}); err != nil {
		t.Fatal(err)
	}
	if now := b.get(j); !slices.Equal(now.AcceptanceMet, []bool{true, false}) {
		t.Errorf("after an edit of the criteria: %v; want the tick with its words", now.AcceptanceMet)
	}
}

func TestAPauseLeavesTheOtherSettingsAlone(t *testing.T) {
	b := setup(t)
	owner := dbfactory.Person(b.who.Workspace, tenancy.RoleOwner)
	limit := 2
	if _, _, err := b.PutProduct(t.Context(), owner, "web", jobs.ProductSettings{Repos: []string{"web-api"}, ReviewLimit: &limit}); err != nil {
		t.Fatal(err)
	}
	for _, paused := range []bool{true, true, false} {
		p, err := b.PauseProduct(t.Context(), owner, "web", paused, "")
		if err != nil || p.Paused != paused || len(p.Repos) != 1 || p.ReviewLimit == nil || *p.ReviewLimit != 2 {
			t.Errorf("paused %t: %+v, %v", paused, p, err)
		}
	}
	if _, err := b.PauseProduct(t.Context(), owner, "nothing", true, ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown product: %v", err)
	}
	if _, err := b.PauseProduct(t.Context(), dbfactory.Person(b.who.Workspace, tenancy.RoleMember), "web", true, ""); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a member: %v", err)
	}
}
