package jobs_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// strange are texts that an array literal, or JSON, could be broken with.
var strange = []string{`a"b`, `c\d`, `e,f`, `{g}`, `NULL`, `\"`, `'; --`, " h ", "ü"}

// A creation answers with what it wrote, without reading it back: nothing of it may
// differ from what is read afterwards.
func TestTheAnswerToACreationIsWhatIsRead(t *testing.T) {
	b := setup(t)
	admin := dbfactory.Person(b.who.Workspace, tenancy.RoleOwner)
	limit := 1
	for name, settings := range map[string]jobs.ProductSettings{
		"reviewed": {ReviewRequired: true}, "single": {Serialise: jobs.SerialiseRepo, Repos: []string{"one"}}, "full": {ReviewLimit: &limit}, "still": {Paused: true}} {
		if _, _, err := b.PutProduct(t.Context(), admin, name, settings); err != nil {
			t.Fatalf("product %s: %v", name, err)
		}
	}
	b.create(jobs.New{Spec: jobs.Spec{Title: "in review"}, Product: "full"})
	dbfactory.Exec(t, b.db, `WITH gone AS (DELETE FROM job_ready RETURNING job_id) UPDATE job SET status = 'in_review' FROM gone WHERE id = gone.job_id`)
	soon := time.Now().Add(time.Hour)
	list := []jobs.New{
		{Spec: jobs.Spec{Title: "plain"}},
		{Spec: jobs.Spec{Title: " spaces ", Body: "a\nb", Phase: " M1 ", ReviewOverride: number(true), EstimatedComplexity: "large",
			EstimatedMinutes: number(1),
			BudgetNanos:      number(int64(1)), Complexity: number(5), Tier: jobs.TierSmall,
			TokenBudget: number(int64(1)), WaitsForChildren: true, Factory: "mac-1", Repo: "elsewhere",
		}, Kind: "k", Priority: number(0), MaxRetries: number(0), MaxLost: number(0),
			RetryBackoffSeconds: number(0), IdempotencyKey: "once"},
		{Spec: jobs.Spec{Title: "not reviewed", ReviewOverride: number(false)}, Product: "reviewed"},
		{Spec: jobs.Spec{Title: "reviewed", Acceptance: []string{"Tests pass", `"quoted"`}}, Product: "reviewed"},
		{Spec: jobs.Spec{Title: "lists", Tags: strange, Capabilities: []string{"os:linux", "has:git", "os:linux"}}},
		{Spec: jobs.Spec{Title: "secret"}, InputContext: json.RawMessage(`{"b": 1.50, "a":{"z":1,"y":[]}, "s\"\n,}": "hush"}`),
			SecretKeys: []string{"s\"\n,}"}},
		{Spec: jobs.Spec{Title: "later", NotBefore: &soon}}, {Spec: jobs.Spec{Title: "parked", NotBefore: &soon},
			BlockedReason: "not yet,\n\"please\""},
		{Spec: jobs.Spec{Title: "first of its repo", Repo: "one"}}, {Spec: jobs.Spec{Title: "second of its repo", Repo: "one"}},
		{Spec: jobs.Spec{Title: "in a full product"}, Product: "full"}, {Spec: jobs.Spec{Title: "in a paused one"}, Product: "still"},
		{Spec: jobs.Spec{Title: "needed"}, Key: "B-2"}, {Spec: jobs.Spec{Title: "needed too"}, Key: "B-1"},
		{Spec: jobs.Spec{Title: "waits", DependsOn: []string{"B-2", "B-1"}}},
	}
	for i, made := range b.create(list...) {
		read, err := b.Get(t.Context(), b.who, made.Key)
		if err != nil {
			t.Fatalf("%s: %v", list[i].Title, err)
		}
		if here, there := reflect.ValueOf(made), reflect.ValueOf(read); !reflect.DeepEqual(made, read) {
			for f := range here.NumField() {
				if !reflect.DeepEqual(here.Field(f).Interface(), there.Field(f).Interface()) {
					t.Errorf("%s: %s is answered as %#v and read as %#v", list[i].Title, here.Type().Field(f).Name, here.Field(f), there.Field(f))
				}
			}
		}
	}
}

// A large batch makes its keys before its transaction. One of them that somebody
// has chosen by hand, before or in the same batch, is left out.
func TestMadeKeysOfABatchKeepClearOfChosenOnes(t *testing.T) {
	b := setup(t)
	b.create(jobs.New{Spec: jobs.Spec{Title: "by hand"}, Key: "FB-7"})
	list := make([]jobs.New, 120)
	for i := range list {
		list[i].Title = fmt.Sprint("job ", i)
	}
	list[100].Key = "FB-50"
	for round := range 2 {
		if round == 1 {
			list[100].Key = ""
		}
		keys := map[string]bool{"FB-7": true}
		for i, j := range b.create(list...) {
			if keys[j.Key] || j.Title != list[i].Title {
				t.Errorf("job %d is %s %q", i, j.Key, j.Title)
			}
			keys[j.Key] = true
		}
	}
	if n := b.count(); n != 241 {
		t.Errorf("%d jobs were made; want 241", n)
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(DISTINCT job_id) FROM event WHERE type = 'job.created'`); n != 241 {
		t.Errorf("%d jobs have an event", n)
	}
}

// So does one job, whose number nobody keeps for it.
func TestAMadeKeyKeepsClearOfChosenOnes(t *testing.T) {
	b := setup(t)
	b.create(jobs.New{Spec: jobs.Spec{Title: "by hand"}, Key: "FB-1"}, jobs.New{Spec: jobs.Spec{Title: "by hand"}, Key: "FB-2"})
	if made := b.create(jobs.New{Spec: jobs.Spec{Title: "next"}}, jobs.New{Spec: jobs.Spec{Title: "chosen"}, Key: "FB-4"},
		jobs.New{Spec: jobs.Spec{Title: "after"}}); made[0].Key != "FB-3" || made[2].Key != "FB-5" {
		t.Errorf("the keys are %s and %s", made[0].Key, made[2].Key)
	}
}

// The log has the jobs of a batch in the order of the request.
func TestTheEventsOfABatchFollowItsOrder(t *testing.T) {
	b := setup(t)
	list := make([]jobs.New, 300)
	for i := range list {
		list[i].Title = fmt.Sprintf("%03d", i)
	}
	b.create(list...)
	n := dbfactory.Int(t, b.db, `SELECT count(*) FROM (SELECT payload->>'title' AS title, row_number() OVER (ORDER BY id) AS n FROM event
		WHERE type = 'job.created') e WHERE title::int + 1 = n`)
	if n != len(list) {
		t.Errorf("%d of %d events stand where their job does", n, len(list))
	}
}

// Batches of one workspace are written beside one another: none waits for another's
// numbers, and no key is made twice.
func TestBatchesAreMadeBesideOneAnother(t *testing.T) {
	b := setup(t)
	const batches, size = 8, 60
	keys := make(chan []string, batches)
	for range batches {
		go func() {
			list := make([]jobs.New, size)
			for i := range list {
				list[i].Title = "beside"
			}
			made, err := b.Create(t.Context(), b.who, nil, list...)
			if err != nil {
				t.Errorf("create: %v", err)
			}
			var own []string
			for _, j := range made.Jobs {
				own = append(own, j.Key)
			}
			keys <- own
		}()
	}
	var all []string
	for range batches {
		all = append(all, <-keys...)
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != batches*size {
		t.Errorf("%d different keys; want %d", n, batches*size)
	}
}

// What products were when a job was last made decides nothing: what another process
// has changed since holds for the next job, and what it has made can be named.
func TestAJobIsMadeByItsProductsAsTheyAreNow(t *testing.T) {
	b := setup(t)
	admin := dbfactory.Person(b.who.Workspace, tenancy.RoleOwner)
	elsewhere := jobs.NewService(b.db, b.wakes, dbtest.Vault(b.db), nil)
	put := func(name string, settings jobs.ProductSettings) {
		t.Helper()
		if _, _, err := elsewhere.PutProduct(t.Context(), admin, name, settings); err != nil {
			t.Fatalf("product %s: %v", name, err)
		}
	}
	b.create(jobs.New{Spec: jobs.Spec{Title: "before"}})
	put("ledger", jobs.ProductSettings{Repos: []string{"api"}})
	if made := b.create(jobs.New{Spec: jobs.Spec{Title: "by its repo", Repo: "api"}})[0]; made.Product != "ledger" || made.ReviewRequired {
		t.Errorf("made in %s, review %t; want it in ledger without", made.Product, made.ReviewRequired)
	}
	put("ledger", jobs.ProductSettings{Repos: []string{"api"}, ReviewRequired: true})
	if made := b.create(jobs.New{Spec: jobs.Spec{Title: "with review", Repo: "api"}})[0]; !made.ReviewRequired {
		t.Error("the product's new setting was not seen")
	}
	put("named", jobs.ProductSettings{})
	if made := b.create(jobs.New{Spec: jobs.Spec{Title: "named"}, Product: "named"})[0]; made.Product != "named" {
		t.Errorf("made in %s", made.Product)
	}
	before := b.count()
	_, err := b.Create(t.Context(), b.who, nil, jobs.New{Spec: jobs.Spec{Title: "nowhere"}, Product: "nowhere"})
	if !fault.Is(err, fault.Validation) || fault.From(err).Fields["product"] == "" || b.count() != before {
		t.Errorf("a product that there is not: %v", err)
	}
	if a, z := b.create(jobs.New{Spec: jobs.Spec{Title: "a"}})[0], b.create(jobs.New{Spec: jobs.Spec{Title: "z"}})[0]; a.Key == z.Key {
		t.Errorf("both are %s", a.Key)
	}
}

// A job that is created blocked stays so until somebody unblocks it, whatever it waited for.
func TestAJobIsCreatedBlocked(t *testing.T) {
	b := setup(t)
	made := b.create(jobs.New{Spec: jobs.Spec{Title: "first"}, Key: "A-1"}, jobs.New{Spec: jobs.Spec{Title: "parked",
		DependsOn: []string{"A-1"}}, BlockedReason: "a draft"},
		jobs.New{Spec: jobs.Spec{Title: "parked too"}, BlockedReason: "a draft"})
	for _, j := range made[1:] {
		if j.Status != jobs.Blocked || j.BlockedReason != "a draft" || j.WaitReason != "" || j.ReadyAt != nil {
			t.Errorf("%s is %s (%s %q)", j.Title, j.Status, j.WaitReason, j.BlockedReason)
		}
	}
	if _, err := b.Create(t.Context(), b.who, nil, jobs.New{Spec: jobs.Spec{Title: "x"}, BlockedReason: strings.Repeat("x",
		jobs.MaxReason+1)}); !fault.Is(err, fault.Validation) {
		t.Errorf("a long reason: %v", err)
	}
}
