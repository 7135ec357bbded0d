package usagecsv_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/handlers/usagecsv"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// ledger is a workspace with a product, three jobs that were worked on, and prices of some models.
type ledger struct {
	db     *db.DB
	who    tenancy.Principal
	usage  *usage.Service
	leases []spend.Booking
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	l := &ledger{db: d, usage: usage.NewService(d), who: dbfactory.Person(workspace, tenancy.RoleViewer)}
	dbfactory.Exec(t, d, `INSERT INTO lane (workspace_id, product_id, needs, digest) SELECT workspace_id, id, '{}', decode(md5(name), 'hex') FROM product`)
	dbfactory.Exec(t, d, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, epoch, created_by)
		SELECT p.workspace_id, gen_random_uuid(), 'FB-' || n, 'One', p.id, l.id, 'ready', 1, 'test'
		FROM lane l JOIN product p ON p.id = l.product_id, generate_series(1, 3) n`)
	dbfactory.Exec(t, d, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, outcome, ended_at)
		SELECT workspace_id, id, 1, 'ada', 'desk', 'lost', now() FROM job`)
	dbfactory.Exec(t, d, `INSERT INTO price (workspace_id, provider, model, valid_from, input, cache_read, cache_write, cache_write_1h, output, flat_rate,
		created_by) SELECT id, 'house', m, '2020-01-01', 1234567, 7, 1250001, 3, 999999999, m = 'flat', 'test'
		FROM workspace, unnest('{priced,flat}'::text[]) m WHERE id = $1`, workspace)
	product, _ := ids.Parse(dbfactory.Text(t, d, `SELECT DISTINCT product_id::text FROM job`))
	for n := range 3 {
		job, _ := ids.Parse(dbfactory.Text(t, d, `SELECT id::text FROM job WHERE key = $1`, fmt.Sprint("FB-", n+1)))
		l.leases = append(l.leases, spend.Booking{Job: job, Epoch: 1, Agent: ids.New(), AgentName: "=ada", Factory: "desk", Product: product,
			Claimed: october, Now: december})
	}
	return l
}

func (l *ledger) tell(t *testing.T, list ...spend.Entry) {
	t.Helper()
	if err := l.db.In(t.Context(), db.Workspace(l.who.Workspace), func(tx db.Tx) error {
		_, _, err := spend.RecordTx(t.Context(), tx, l.who.Workspace, list)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// drawEntry draws an entry, or a raise of one, often at the edge of an hour, a day or a month.
func (l *ledger) drawEntry(r *rapid.T) spend.Entry {
	hour := october.Add(time.Duration(rapid.IntRange(1, 60*24-2).Draw(r, "hour")) * time.Hour)
	at := rapid.SampledFrom([]time.Time{hour, hour.Truncate(24 * time.Hour), october.AddDate(0, 1, 0)}).Draw(r, "at").
		Add(time.Duration(rapid.IntRange(-1, 1).Draw(r, "edge")) * time.Microsecond)
	tokens := rapid.Int64Range(0, 3_000_000)
	e := spend.Entry{ID: fmt.Sprint("m-", rapid.IntRange(0, 60).Draw(r, "id")), Booking: rapid.SampledFrom(l.leases[:2]).Draw(r, "lease"),
		Provider: "house", Model: rapid.SampledFrom([]string{"priced", "flat", "none"}).Draw(r, "model"), At: at,
		Input: tokens.Draw(r, "input"), Output: tokens.Draw(r, "output"), CacheRead: tokens.Draw(r, "read"),
		CacheWrite: tokens.Draw(r, "write"), CacheWrite1h: tokens.Draw(r, "write1h")}
	if rapid.Bool().Draw(r, "reported") {
		cost := fmt.Sprintf("0.%09d", rapid.IntRange(0, 999_999_999).Draw(r, "cost"))
		e.CostUSD = &cost
	}
	return e
}

// read returns the charges from october up to an instant, seven a page.
func (l *ledger) read(t *testing.T, until time.Time) dataset {
	t.Helper()
	query := usage.ChargeQuery{Query: usage.Query{From: october, Until: until}, Limit: 7}
	page, more, err := l.usage.Charges(t.Context(), l.who, query)
	if err != nil {
		t.Fatal(err)
	}
	return readFocus(t, func(w *strings.Builder) error {
		return usagecsv.WriteFocus(w, account, page, more, func(last usage.Charge) ([]usage.Charge, bool, error) {
			query.After = last
			return l.usage.Charges(t.Context(), l.who, query)
		})
	})
}

// add sums what a column has, in all and by the day of the charge.
func add(d dataset, column string) map[string]string {
	sums := map[string]*big.Rat{"all": new(big.Rat)}
	for _, row := range d.rows {
		day := d.at(row, "ChargePeriodStart")[:10]
		if sums[day] == nil {
			sums[day] = new(big.Rat)
		}
		n, _ := new(big.Rat).SetString(d.at(row, column))
		sums[day].Add(sums[day], n)
		sums["all"].Add(sums["all"], n)
	}
	all := map[string]string{}
	for of, sum := range sums {
		all[of] = sum.FloatString(9)
	}
	return all
}

// The charges of a period add up to its report to the billionth, in all and by day, whatever was reported and
// raised, and when; and each keeps the rules.
func TestChargesInFocusAddUpToTheReport(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	rapid.Check(t, func(r *rapid.T) {
		l.tell(t, rapid.SliceOfN(rapid.Custom(l.drawEntry), 1, 12).Draw(r, "entries")...)
	})
	// An entry of October is raised in its last microsecond, and in November, where its job has none.
	edge := october.AddDate(0, 1, 0).Add(-time.Microsecond)
	for i, at := range []time.Time{edge.AddDate(0, 0, -3), edge, edge.Add(time.Microsecond), edge.AddDate(0, 0, 9)} {
		l.tell(t, spend.Entry{ID: "raised", Booking: l.leases[2], Provider: "house", Model: "priced", At: at, Input: int64(1000 * (i + 1))})
	}
	for _, until := range []time.Time{december, edge.Add(time.Microsecond), october.AddDate(0, 0, 9)} {
		d := l.read(t, until)
		isFocus(t, d)
		report, err := l.usage.Report(t.Context(), l.who, usage.Query{From: october, Until: until}, usage.MaxGroups, usage.Day)
		if err != nil {
			t.Fatal(err)
		}
		billed, listed := add(d, "BilledCost"), add(d, "ListCost")
		if total := report.Total; billed["all"] != total.Charged.Fixed() || listed["all"] != (total.Charged+total.Imputed).Fixed() || total.Charged == 0 {
			t.Errorf("until %s %s is billed and %s listed; the report says %s and %s", until, billed["all"], listed["all"], total.Charged.Fixed(),
				total.Imputed.Fixed())
		}
		if used := add(d, "ConsumedQuantity")["all"]; used != fmt.Sprint(report.Total.Tokens(), ".000000000") {
			t.Errorf("%s tokens are used; the report says %d", used, report.Total.Tokens())
		}
		days := report.By[usage.Day].Sums
		for _, day := range days {
			if billed[day.Group] != day.Charged.Fixed() {
				t.Errorf("%s is billed on %s; the report says %s", billed[day.Group], day.Group, day.Charged.Fixed())
			}
		}
		if len(billed) != len(days)+1 || len(days) < 5 {
			t.Errorf("%d days of %d", len(billed)-1, len(days))
		}
	}
	var corrections []string
	for d := l.read(t, december); len(d.rows) > 0; d.rows = d.rows[1:] {
		if row := d.rows[0]; d.at(row, "ChargeClass") != "" {
			corrections = append(corrections, d.at(row, "ChargePeriodStart")+" "+d.at(row, "x_InputTokens"))
		}
	}
	if got := strings.Join(corrections, ", "); got != "2026-11-01T00:00:00Z 1000, 2026-11-09T23:00:00Z 1000" {
		t.Errorf("the corrections are %s", got)
	}
}

// Filters count, and who may not read usage reads no charges.
func TestWhoReadsCharges(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	for n, model := range []string{"priced", "none", "none"} {
		l.tell(t, spend.Entry{ID: "m", Booking: l.leases[n], Provider: "house", Model: model, At: october.AddDate(0, 0, n), Input: 5})
	}
	of := usage.Query{From: october, Until: december, Filter: map[usage.Dimension][]string{usage.Model: {"none"}, usage.Job: {"FB-2", "FB-1"}}}
	list, more, err := l.usage.Charges(t.Context(), l.who, usage.ChargeQuery{Query: of, Limit: 5})
	if err != nil || more || len(list) != 1 || list[0].JobKey != "FB-2" || list[0].Input != 5 || list[0].Basis() != usage.ByNothing {
		t.Errorf("filtered: %+v, %v", list, err)
	}
	nobody := l.who
	nobody.Role = ""
	if _, _, err := l.usage.Charges(t.Context(), nobody, usage.ChargeQuery{Query: of}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("nobody reads charges: %v", err)
	}
	if _, err := l.usage.Account(t.Context(), nobody); !fault.Is(err, fault.Forbidden) {
		t.Errorf("nobody reads whose they are: %v", err)
	}
}
