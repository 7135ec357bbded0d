package jobs_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// scatter adds jobs of random statuses, priorities, times and costs, many of them the
// same, and gives the costs by key.
func (b *bundle) scatter(n int, seed uint64) map[string]int {
	b.t.Helper()
	b.create(jobs.New{Spec: jobs.Spec{Title: "like this one"}})
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, priority, status, wait_reason, created_by, status_at,
			updated_at, completed_at, failed_at)
		SELECT j.workspace_id, gen_random_uuid(), 'J-' || n, 'job', j.product_id, j.lane_id, r.priority, r.status,
			CASE r.status WHEN 'waiting' THEN 'not_before' ELSE '' END, 'test', r.at, r.at + interval '1 hour', now(), now()
		FROM job j, generate_series(1, %d) n, LATERAL (SELECT abs(hashint4(n + %[2]d)) %% 4 * 3 AS priority,
			(ARRAY['waiting', 'ready', 'paused', 'in_review', 'completed', 'failed', 'archived'])[1 + abs(hashint4(n + 7 * %[2]d)) %% 7] AS status,
			timestamptz '2026-03-01 00:00:00.123456Z' + interval '1 day' * (abs(hashint4(n + 31 * %[2]d)) %% 9) AS at) r
		WHERE j.workspace_id = $1`, n, seed%1000),
		`INSERT INTO job_text (workspace_id, job_id) SELECT workspace_id, id FROM job WHERE workspace_id = $1 ON CONFLICT DO NOTHING`,
		`INSERT INTO attempt (workspace_id, job_id, epoch, agent_id, agent, factory) SELECT workspace_id, id, e, md5('ada')::uuid, 'ada', 'desk'
		FROM job, generate_series(1, 2) e WHERE workspace_id = $1`,
		`INSERT INTO job_usage (workspace_id, job_id, epoch, entries, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
			reported_nanos, charged_nanos, unpriced)
		SELECT workspace_id, job_id, epoch, 1, 0, 0, 0, 0, 0, 5 * (abs(hashtext(job_id::text || epoch)) % 3), 0
		FROM attempt WHERE workspace_id = $1 AND hashtext(job_id::text) % 3 <> 0`,
	} {
		dbfactory.Exec(b.t, b.db, sql, b.who.Workspace)
	}
	costs := map[string]int{}
	for _, line := range strings.Fields(dbfactory.Text(b.t, b.db, `SELECT string_agg(key || '=' || c, ' ') FROM (
		SELECT j.key, (SELECT coalesce(sum(charged_nanos), 0) FROM job_usage u WHERE u.workspace_id = j.workspace_id AND u.job_id = j.id) AS c
		FROM job j WHERE j.workspace_id = $1) x`, b.who.Workspace)) {
		var key string
		var cost int
		if _, err := fmt.Sscanf(strings.Replace(line, "=", " ", 1), "%s %d", &key, &cost); err != nil {
			b.t.Fatal(err)
		}
		costs[key] = cost
	}
	return costs
}

// pages walks all pages of a list.
func (b *bundle) pages(f jobs.Filter) (keys []string) {
	b.t.Helper()
	for {
		page, next, err := b.List(b.t.Context(), b.who, f)
		if err != nil || len(page) > f.Limit || len(page) < f.Limit && next != "" {
			b.t.Fatalf("%+v: a page of %d, then %q: %v", f, len(page), next, err)
		}
		for _, j := range page {
			keys = append(keys, j.Key)
		}
		if next == "" {
			return keys
		}
		f.Cursor = next
	}
}

// Whatever jobs there are, the pages of each order give each job once, in the order
// that sorting all of them in memory gives.
func TestPagesOfEachOrderGiveEachJobOnce(t *testing.T) {
	b := setup(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	costs := b.scatter(80, seed)
	all, _, err := b.List(t.Context(), b.who, jobs.Filter{Limit: 200})
	if err != nil || len(all) != 81 {
		t.Fatalf("%d jobs: %v", len(all), err)
	}
	newest := func(x, y jobs.Job) int { return bytes.Compare(y.ID[:], x.ID[:]) }
	orders := map[jobs.Sort]func(x, y jobs.Job) int{
		"":               newest,
		jobs.SortCreated: newest,
		jobs.SortAge:     func(x, y jobs.Job) int { return newest(y, x) },
		jobs.SortUpdated: func(x, y jobs.Job) int { return cmp.Or(y.UpdatedAt.Compare(x.UpdatedAt), newest(x, y)) },
		jobs.SortPriority: func(x, y jobs.Job) int {
			return cmp.Or(cmp.Compare(y.Priority, x.Priority), x.StatusAt.Compare(y.StatusAt), newest(y, x))
		},
		jobs.SortCost: func(x, y jobs.Job) int { return cmp.Or(cmp.Compare(costs[y.Key], costs[x.Key]), newest(x, y)) },
	}
	open := []jobs.Status{jobs.Waiting, jobs.Ready, jobs.Paused, jobs.InReview, jobs.Assigned}
	for sort, compare := range orders {
		for _, limit := range []int{1 + random.IntN(9), 81} {
			for _, filter := range []jobs.Filter{{}, {Statuses: []jobs.Status{jobs.Ready, jobs.Ready, jobs.Waiting}}, {ReadyOnly: true},
				{Statuses: open, PriorityGTE: number(3)}, {Query: "J-1"}} {
				if filter.Sort, filter.Limit = sort, limit; sort == jobs.SortPriority && len(filter.Statuses) == 0 && !filter.ReadyOnly {
					filter.Statuses = open
				}
				var want []string
				for _, j := range slices.SortedFunc(slices.Values(all), compare) {
					if (len(filter.Statuses) == 0 || slices.Contains(filter.Statuses, j.Status)) && (!filter.ReadyOnly || j.Status == jobs.Ready) &&
						(filter.PriorityGTE == nil || j.Priority >= *filter.PriorityGTE) && (filter.Query == "" || strings.HasPrefix(j.Key, filter.Query)) {
						want = append(want, j.Key)
					}
				}
				if got := b.pages(filter); len(want) == 0 || !slices.Equal(got, want) {
					t.Errorf("%+v:\n got %v\nwant %v", filter, got, want)
				}
			}
		}
	}
}

func TestACursorIsOfOneOrder(t *testing.T) {
	b := setup(t)
	b.create(jobs.New{Spec: jobs.Spec{Title: "a"}}, jobs.New{Spec: jobs.Spec{Title: "b"}})
	all := []jobs.Sort{jobs.SortCreated, jobs.SortAge, jobs.SortUpdated, jobs.SortPriority, jobs.SortCost}
	for _, given := range all {
		_, cursor, err := b.List(t.Context(), b.who, jobs.Filter{Sort: given, ReadyOnly: true, Limit: 1})
		if err != nil || cursor == "" {
			t.Fatalf("%s: %q, %v", given, cursor, err)
		}
		for _, asked := range all {
			_, _, err := b.List(t.Context(), b.who, jobs.Filter{Sort: asked, ReadyOnly: true, Cursor: cursor})
			if refused := fault.From(err).Fields["cursor"] != ""; refused != (given != asked) {
				t.Errorf("a cursor by %s, asked for by %s: %v", given, asked, err)
			}
		}
		for _, broken := range []string{"x", cursor[1:], cursor + "0", strings.Replace(cursor, ".", ".-", 1), strings.Replace(cursor, ".", ".9", 2)} {
			list, _, err := b.List(t.Context(), b.who, jobs.Filter{Sort: given, ReadyOnly: true, Cursor: broken})
			if err != nil && !fault.Is(err, fault.Validation) {
				t.Errorf("cursor %q: %v, %v", broken, list, err)
			}
		}
	}
}

// No order reads without bound: those that no index has are refused, with what
// would do.
func TestOrdersThatHaveNoIndex(t *testing.T) {
	b := setup(t)
	for name, f := range map[string]jobs.Filter{
		"no status":         {Sort: jobs.SortPriority},
		"a finished status": {Sort: jobs.SortPriority, Statuses: []jobs.Status{jobs.Ready, jobs.Completed}},
	} {
		if _, _, err := b.List(t.Context(), b.who, f); !strings.Contains(fault.From(err).Fields["sort"], "in_review") {
			t.Errorf("%s: %v; want a refusal with the statuses", name, err)
		}
	}
	b.scatter(jobs.MaxSortedByCost-1, 1)
	f := jobs.Filter{Sort: jobs.SortCost, Limit: 200}
	if got := b.pages(f); len(got) != jobs.MaxSortedByCost {
		t.Errorf("%d jobs by cost", len(got))
	}
	b.create(jobs.New{Spec: jobs.Spec{Title: "one more"}})
	if _, _, err := b.List(t.Context(), b.who, f); !strings.Contains(fault.From(err).Fields["sort"], "1000") {
		t.Errorf("too many by cost: %v; want a refusal with the limit", err)
	}
	f.ReadyOnly = true
	if got := b.pages(f); len(got) < 100 {
		t.Errorf("%d ready jobs by cost", len(got))
	}
}

// agent gives the id of an agent with attempts, which is made of its name.
func (b *bundle) agent(name string) ids.ID {
	id, _ := ids.Parse(dbfactory.Text(b.t, b.db, `SELECT md5($1)::uuid::text`, name))
	return id
}

// The attempts of another workspace's agent are nobody's here.
func TestAttemptsOfAnAgentOfAnotherWorkspace(t *testing.T) {
	b := setup(t)
	b.scatter(5, 1)
	other := dbfactory.Person(dbfactory.Workspace(t, b.db), tenancy.RoleOwner)
	mine, next, err := attempts.NewService(b.db).AgentAttempts(t.Context(), b.who, b.agent("ada"), attempts.Filter{Limit: 7})
	if err != nil || len(mine) != 7 || next == "" {
		t.Fatalf("%d attempts, then %q: %v", len(mine), next, err)
	}
	for _, cursor := range []string{"", next} {
		if foreign, _, err := attempts.NewService(b.db).AgentAttempts(t.Context(), other, b.agent("ada"), attempts.Filter{Cursor: cursor, Limit: 7}); err != nil || len(foreign) > 0 {
			t.Errorf("another workspace sees %v, %v", foreign, err)
		}
	}
}
