package usage_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// book is a workspace with two products, each with a job that was worked on twice.
type book struct {
	t      *testing.T
	db     *db.DB
	usage  *usage.Service
	who    tenancy.Principal
	leases []spend.Booking
}

var (
	november = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	december = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
)

func newBook(t *testing.T) *book {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	b := &book{t: t, db: d, usage: usage.NewService(d), who: dbfactory.Person(workspace, tenancy.RoleViewer)}
	dbfactory.Exec(t, d, `INSERT INTO product (workspace_id, id, name) VALUES ($1, gen_random_uuid(), 'other')`, workspace)
	dbfactory.Exec(t, d, `INSERT INTO lane (workspace_id, product_id, needs, digest) SELECT workspace_id, id, '{}', decode(md5(name), 'hex') FROM product`)
	dbfactory.Exec(t, d, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, epoch, created_by)
		SELECT p.workspace_id, gen_random_uuid(), upper(left(p.name, 1)) || '-1', 'Job of ' || p.name, p.id, l.id, 'ready', 2, 'test'
		FROM lane l JOIN product p ON p.id = l.product_id`)
	dbfactory.Exec(t, d, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, outcome, ended_at)
		SELECT workspace_id, id, generate_series(1, 2), 'ada', 'desk', 'lost', now() FROM job`)
	for i, product := range []string{"default", "other"} {
		job, _ := ids.Parse(dbfactory.Text(t, d, `SELECT j.id::text FROM job j JOIN product p ON p.id = j.product_id WHERE p.name = $1`, product))
		of, _ := ids.Parse(dbfactory.Text(t, d, `SELECT id::text FROM product WHERE name = $1`, product))
		for epoch := range int64(2) {
			b.leases = append(b.leases, spend.Booking{Job: job, Epoch: epoch + 1, Agent: ids.New(), AgentName: fmt.Sprint("agent-", epoch),
				Factory: fmt.Sprint("factory-", epoch), Product: of, Phase: []string{"", "m1"}[i], Repo: fmt.Sprint("repo-", i), Claimed: november,
				Now: december})
		}
	}
	return b
}

func (b *book) tell(list ...spend.Entry) {
	b.t.Helper()
	if err := b.db.In(b.t.Context(), db.Workspace(b.who.Workspace), func(tx db.Tx) error {
		_, _, err := spend.RecordTx(b.t.Context(), tx, b.who.Workspace, list)
		return err
	}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *book) report(filter map[usage.Dimension][]string, most int, by ...usage.Dimension) usage.Report {
	b.t.Helper()
	r, err := b.usage.Report(b.t.Context(), b.who, usage.Query{From: november, Until: december, Filter: filter}, most, by...)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func entry(id string, of spend.Booking, at time.Time, model string, input, cached int64) spend.Entry {
	cost := "0.25"
	return spend.Entry{ID: id, Booking: of, Provider: "house", Model: model, Input: input, CacheRead: cached, Output: 1, CostUSD: &cost, At: at}
}

// raw are the sums of the entries themselves in groups of an expression.
var raw = map[usage.Dimension]string{
	usage.Product: "p.name", usage.Job: "j.key", usage.Model: "e.model", usage.Provider: "e.provider",
	usage.Agent: "'agent-' || (e.epoch - 1)", usage.Factory: "'factory-' || (e.epoch - 1)",
	usage.Phase: "CASE p.name WHEN 'other' THEN 'm1' ELSE '' END", usage.Repo: "CASE p.name WHEN 'other' THEN 'repo-1' ELSE 'repo-0' END",
	usage.Day: "to_char(e.booked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')", usage.Hour: `to_char(e.booked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":00:00Z"')`,
}

// Each sum is that of the entries, in each dimension and with each filter, whatever was
// reported in whatever order.
func TestSumsAreThoseOfTheEntries(t *testing.T) {
	b := newBook(t)
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		at := time.Duration(rapid.IntRange(0, 29*24*60).Draw(r, "minutes")) * time.Minute
		told := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) spend.Entry {
			return entry(fmt.Sprint(run, "-", rapid.IntRange(0, 5).Draw(r, "id")), rapid.SampledFrom(b.leases).Draw(r, "lease"),
				november.Add(at), rapid.SampledFrom([]string{"small", "large"}).Draw(r, "model"), rapid.Int64Range(0, 100).Draw(r, "input"),
				rapid.Int64Range(0, 100).Draw(r, "cached"))
		}), 1, 8).Draw(r, "entries")
		b.tell(told...)
	})
	report := b.report(nil, usage.MaxGroups, usage.Dimensions...)
	for by, expression := range raw {
		want := dbfactory.Text(t, b.db, `SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM (SELECT concat_ws(' ', `+expression+`, count(*),
			sum(e.input_tokens), sum(e.output_tokens), sum(e.cache_read_tokens), sum(e.charged_nanos)) AS line
			FROM usage_entry e JOIN job j ON j.id = e.job_id JOIN product p ON p.id = e.product_id GROUP BY `+expression+`) x`)
		lines := make([]string, 0, len(report.By[by].Sums))
		for _, s := range report.By[by].Sums {
			lines = append(lines, fmt.Sprint(s.Group, " ", s.Entries, " ", s.Input, " ", s.Output, " ", s.CacheRead, " ", int64(s.Charged)))
			// A filter by the group gives the group.
			if by != usage.Day && by != usage.Hour {
				if only := b.report(map[usage.Dimension][]string{by: {s.Group}}, 1).Total; only != s.Usage {
					t.Errorf("filtered by %s %q: %+v, not %+v", by, s.Group, only, s.Usage)
				}
			}
		}
		slices.Sort(lines)
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("by %s:\n%s\nthe entries say\n%s", by, got, want)
		}
	}
	for _, of := range []usage.Dimension{usage.Product, usage.Model} {
		for _, step := range []usage.Dimension{usage.Day, usage.Hour} {
			var names []string
			want := usage.Steps{}
			for _, g := range report.By[of].Sums {
				names, want[g.Group] = append(names, g.Group), map[string]spend.Nanos{}
				for _, at := range b.report(map[usage.Dimension][]string{of: {g.Group}}, usage.MaxGroups, step).By[step].Sums {
					want[g.Group][at.Group] = at.Charged
				}
			}
			got, err := b.usage.Steps(t.Context(), b.who, usage.Query{From: november, Until: december}, of, names, step)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("by %s and %s: %v, %v; want %v", of, step, got, err, want)
			}
		}
	}
	if all := dbfactory.Int(t, b.db, `SELECT sum(input_tokens)::int FROM usage_entry`); int64(all) != report.Total.Input {
		t.Errorf("in all %d tokens were read, and the total says %d", all, report.Total.Input)
	}
}

// The dearest groups come first, days from the latest on; what is left out is counted.
func TestTheDearestFirst(t *testing.T) {
	b := newBook(t)
	b.tell(entry("a", b.leases[0], november, "small", 1, 0), entry("b", b.leases[2], november.AddDate(0, 0, 1), "large", 1, 3),
		entry("c", b.leases[2], november.AddDate(0, 0, 2), "large", 1, 3))
	r := b.report(nil, 1, usage.Model, usage.Day, usage.Job)
	if g := r.By[usage.Model]; g.Count != 2 || len(g.Sums) != 1 || g.Sums[0].Group != "large" || g.Sums[0].Charged != 500_000_000 {
		t.Errorf("models: %+v", g)
	}
	if g := r.By[usage.Day]; g.Count != 3 || g.Sums[0].Group != "2026-11-03" {
		t.Errorf("days: %+v", g)
	}
	if g := r.By[usage.Job]; g.Sums[0].Group != "O-1" || g.Sums[0].Label != "Job of other" {
		t.Errorf("jobs: %+v", g)
	}
	if share, ok := r.By[usage.Model].Sums[0].CacheShare(); !ok || share != 0.75 {
		t.Errorf("the cache gave %v, %t", share, ok)
	}
}

// Entries are listed newest first, page by page, none twice and none left out, also those
// of one instant.
func TestEntriesPageByPage(t *testing.T) {
	b := newBook(t)
	for i := range 7 {
		b.tell(entry(fmt.Sprint("e", i), b.leases[i%4], november.Add(time.Duration(i/3)*time.Hour), []string{"small", "large"}[i%2], 1, 0))
	}
	// The same id of two jobs at one instant, where a page ends.
	for _, l := range []spend.Booking{b.leases[0], b.leases[2]} {
		b.tell(entry("same", l, november, "small", 1, 0))
	}
	var seen []string
	query := usage.EntryQuery{Query: usage.Query{From: november, Until: december}, Limit: 5}
	for more := true; more; {
		var page []usage.Entry
		var err error
		if page, more, err = b.usage.Entries(t.Context(), b.who, query); err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			seen = append(seen, e.ID)
		}
		at, ok := usage.ParsePosition(page[len(page)-1].Position().String())
		if !ok {
			t.Fatal("a position cannot be read")
		}
		query.Before = at
	}
	if got := strings.Join(seen, " "); got != "e6 e5 e4 e3 same same e2 e1 e0" {
		t.Errorf("listed %s", got)
	}
	list, _, err := b.usage.Entries(t.Context(), b.who, usage.EntryQuery{Limit: 10, Query: usage.Query{From: november, Until: december,
		Filter: map[usage.Dimension][]string{usage.Model: {"large"}, usage.Phase: {"m1"}}}})
	if err != nil || len(list) != 1 || list[0].ID != "e3" || list[0].Agent != "agent-1" || list[0].JobKey != "O-1" || list[0].Product != "other" {
		t.Errorf("filtered: %+v, %v", list, err)
	}
}

func TestWhatIsNoQuery(t *testing.T) {
	b := newBook(t)
	for name, query := range map[string]usage.Query{
		"from":  {From: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), Until: december},
		"to":    {From: december, Until: november},
		"phase": {From: november, Until: december, Filter: map[usage.Dimension][]string{usage.Phase: make([]string, 21)}},
		"day":   {From: november, Until: december, Filter: map[usage.Dimension][]string{usage.Day: {"2026-11-01"}}},
		"repo":  {From: november, Until: december, Filter: map[usage.Dimension][]string{usage.Repo: {strings.Repeat("x", 201)}}},
	} {
		_, err := b.usage.Report(t.Context(), b.who, query, 1, usage.Model)
		if refused := fault.From(err); refused.Code != fault.Validation || refused.Fields[name] == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.usage.Report(t.Context(), b.who, usage.Query{From: november, Until: december}, 1, "colour"); !fault.Is(err, fault.Validation) {
		t.Errorf("a dimension that there is not: %v", err)
	}
	nobody := b.who
	nobody.Role = ""
	if _, _, err := b.usage.Entries(t.Context(), nobody, usage.EntryQuery{}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("nobody reads entries: %v", err)
	}
}
