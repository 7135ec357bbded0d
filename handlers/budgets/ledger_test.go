package budgets_test

import (
	"encoding/csv"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// ledgerFile reads a ledger as CSV: its cells by the names of their columns.
func ledgerFile(t *testing.T, d *handlertest.Site, target string) (rows []map[string]string) {
	t.Helper()
	answer := d.Get(target)
	if kind := answer.Header.Get("Content-Type"); kind != "text/csv; charset=utf-8" {
		t.Errorf("it is %q", kind)
	}
	lines, err := csv.NewReader(strings.NewReader(handlertest.Read(t, answer, http.StatusOK))).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatal(lines, err)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// A report of two entries is two rows, on the page and in the file: with the job, the agent, the
// model, exact amounts and what is left.
func TestALedgerNamesItsEntries(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	most := int64(1_000_000)
	b := budget(t, d, budgets.Input{Name: "All / =mine", Scope: budgets.Workspace, Period: budgets.Month, Hard: true,
		Limits: budgets.Limits{Money: dollars(100), Tokens: &most}, Slice: dollars(1), SliceTokens: new(int64(1000))})
	agent := d.Agent("ada")
	d.Job("One")
	j := d.Claim(agent)
	cost, small := "1.250000001", "0.000000009"
	answers, err := d.Dispatch.RecordUsage(t.Context(), agent, []report.UsageLine{
		{Lease: lease.Ref{Job: j.Key, Epoch: j.Epoch}, Entry: spend.Entry{ID: "=1+1", Provider: "@house", Model: "+sonnet\u202e", Input: 700, CostUSD: &cost, At: time.Now()}},
		{Lease: lease.Ref{Job: j.Key, Epoch: j.Epoch}, Entry: spend.Entry{ID: "-two", Provider: "house", Model: `=HYPERLINK("http://x","y")`, Input: 5, CostUSD: &small, At: time.Now()}},
	})
	if err != nil || answers[0].Outcome != spend.Recorded || answers[1].Outcome != spend.Recorded {
		t.Fatal(answers, err)
	}

	page := "/budgets/" + b.ID.String() + "/ledger"
	doc := handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantCount(t, doc, "#ledger tbody tr", 6) // granted, reserved, begun, two entries, reserved more
	row := "#ledger tbody tr:nth-child(3)"
	handlertest.WantText(t, doc, row, "Settled")
	handlertest.WantText(t, doc, row+" a.key[href='/jobs/"+j.Key+"']", j.Key)
	handlertest.WantText(t, doc, row, "adaattempt 1")
	handlertest.WantText(t, doc, row, "−$1.25−700 tokens")
	handlertest.WantText(t, doc, row, "−$1.00−700 tokens") // what was reserved
	handlertest.WantText(t, doc, row, "$98.75999,300 tokens")
	handlertest.WantText(t, doc, row, "=1+1, 700 tokens without a price")
	handlertest.WantText(t, doc, "#ledger tbody tr:nth-child(2)", "=HYPERLINK")
	handlertest.WantText(t, doc, "#ledger tbody tr:nth-child(4)", "Run begun")
	handlertest.WantText(t, doc, "#ledger tbody tr:nth-child(6)", "Limit of the period")
	handlertest.WantText(t, doc, "#ledger tbody tr:nth-child(6)", "+$100.00+1,000,000 tokens")

	file, _ := doc.Find("a[href*='ledger.csv']").Attr("href")
	answer := d.Get(file)
	if name := answer.Header.Get("Content-Disposition"); !strings.HasPrefix(name, `attachment; filename="ledger-All____mine-`) {
		t.Errorf("it is saved as %s", name)
	}
	rows := ledgerFile(t, d.Site, file)
	if len(rows) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	for name, want := range map[string]string{"kind": "settle", "job": j.Key, "attempt": "1", "agent": "ada", "provider": "'@house", "entry": "'=1+1",
		"model": "'+sonnet\u202e", "added_usd": "0.000000000", "taken_usd": "1.250000001", "reserved_usd": "-1.000000000",
		"left_usd": "98.749999999", "taken_tokens": "700", "reserved_tokens": "-700", "left_tokens": "999300", "left_runs": ""} {
		if rows[2][name] != want {
			t.Errorf("%s is %q; want %q", name, rows[2][name], want)
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, rows[2]["at"]); err != nil || !strings.HasSuffix(rows[2]["at"], "Z") || time.Since(at) > time.Hour {
		t.Errorf("it was at %q", rows[2]["at"])
	}
	if rows[1]["model"] != `'=HYPERLINK("http://x","y")` || rows[1]["left_usd"] != "98.749999990" || rows[5]["left_usd"] != "100.000000000" {
		t.Errorf("%v\n%v", rows[1], rows[5])
	}

	// Without all lines there is nothing to add up.
	handlertest.WantText(t, handlertest.Page(t, d.Get(page+"?kind=settled"), http.StatusUnprocessableEntity), ".err-in li",
		"kind It must be limit, transfer, settle or reserve.")
	doc = handlertest.Page(t, d.Get(page+"?kind=settle"), http.StatusOK)
	handlertest.WantCount(t, doc, "#ledger tbody tr", 3)
	if head := doc.Find("#ledger thead").Text(); strings.Contains(head, "Left") {
		t.Errorf("a part of the lines says what is left: %s", head)
	}
}

// A past period has its ledger, one without rows an empty one, and what names no period is refused.
func TestLedgersOfPeriods(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	b := budget(t, d, hard("All", 100))
	past := b.State.Start.AddDate(0, -1, 0)
	dbfactory.Exec(t, d.DB, `INSERT INTO budget_period (workspace_id, budget_id, period_start, period_end, limit_nanos, settled_nanos)
		SELECT workspace_id, budget_id, $1, period_start, 50e9, 2e9 FROM budget_period`, past)
	dbfactory.Exec(t, d.DB, `INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos)
		SELECT workspace_id, budget_id, period_start, 'settle', 'free', 'settled', 2e9 FROM budget_period WHERE period_start = $1`, past)
	page := "/budgets/" + b.ID.String() + "/ledger"
	at := url.Values{"period": {past.UTC().Format(time.RFC3339Nano)}}.Encode()
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/budgets"), http.StatusOK), "#past-periods a[href='"+page+"?"+at+"']", 1)
	doc := handlertest.Page(t, d.Get(page+"?"+at), http.StatusOK)
	handlertest.WantCount(t, doc, "#ledger tbody tr", 1)
	handlertest.WantText(t, doc, "#ledger tbody tr", "$48.00")
	handlertest.WantCount(t, doc, "a[href='"+page+"']", 1) // back to the present
	if rows := ledgerFile(t, d.Site, "/budgets/"+b.ID.String()+"/ledger.csv?"+at); len(rows) != 1 || rows[0]["left_usd"] != "48.000000000" {
		t.Errorf("%v", rows)
	}

	// One that does not begin anew has one file, and no date in its name.
	once := budget(t, d, budgets.Input{Name: "Once", Scope: budgets.Milestone, Phase: "m1", Period: budgets.Once, Limits: budgets.Limits{Money: dollars(1)}})
	answer := d.Get("/budgets/" + once.ID.String() + "/ledger.csv")
	if name := answer.Header.Get("Content-Disposition"); name != `attachment; filename="ledger-Once.csv"` {
		t.Errorf("it is saved as %s", name)
	}

	never := url.Values{"period": {past.AddDate(-1, 0, 0).UTC().Format(time.RFC3339Nano)}}.Encode()
	handlertest.WantText(t, handlertest.Page(t, d.Get(page+"?"+never), http.StatusOK), "#main", "The period has no lines")
	if rows := ledgerFile(t, d.Site, "/budgets/"+b.ID.String()+"/ledger.csv?"+never); len(rows) != 0 {
		t.Errorf("%v", rows)
	}
	for _, wrong := range []string{"period=yesterday", "before=1", "before=1.2.3.4", "before=0.0.0.0.0", "before=1.-1.0.0.0", "before=1.0.0.0.0.0",
		"before=1.0.99999999999999999999.0.0"} {
		handlertest.WantStatus(t, d.Get(page+"?"+wrong), http.StatusUnprocessableEntity)
	}
	// A cursor behind all rows of its line is at the next one, and one beyond a number is no end.
	handlertest.WantCount(t, handlertest.Page(t, d.Get(page+"?before=9223372036854775807.2147483647.9223372036854775807.-9223372036854775808.0"), http.StatusOK), "#ledger tbody tr", 0)
	handlertest.WantStatus(t, d.Get("/budgets/"+ids.New().String()+"/ledger.csv"), http.StatusNotFound)
	handlertest.WantStatus(t, d.As(tenancy.RoleViewer).Get("/budgets/"+b.ID.String()+"/ledger.csv"), http.StatusOK)
}

// stream counts the lines of an answer, and how much is in use while it is written.
type stream struct {
	*httptest.ResponseRecorder
	lines, size int
	live        []int
}

func (s *stream) Write(part []byte) (int, error) {
	before := s.lines
	s.lines, s.size = s.lines+strings.Count(string(part), "\n"), s.size+len(part)
	if s.lines/20_000 > before/20_000 {
		s.live = append(s.live, inUse())
	}
	return io.Discard.Write(part)
}

// inUse returns how many bytes the process has in use.
func inUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A ledger of 100,000 rows is written as it is read: never more than a page is held. Half of them
// are lines of their own, the others are entries of lines that have a hundred.
func TestALongLedgerIsStreamed(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	b := budget(t, d, hard("All", 100))
	dbfactory.Exec(t, d.DB, `INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, tokens, job_id, epoch,
			entry, entries, entry_nanos, entry_tokens)
		SELECT p.workspace_id, p.budget_id, p.period_start, 'settle', 'free', 'settled', w.n, w.n, p.budget_id, 1, w.entry, w.entries, w.each, w.each
		FROM budget_period p, (SELECT 1 AS n, 'entry-' || i AS entry, NULL::text[] AS entries, NULL::bigint[] AS each FROM generate_series(1, 50000) i
			UNION ALL SELECT 100, '', (SELECT array_agg('part-' || i || '-' || e) FROM generate_series(1, 100) e), array_fill(1::bigint, '{100}')
			FROM generate_series(1, 500) i) w`)
	dbfactory.Exec(t, d.DB, `UPDATE budget_period SET settled_nanos = 100000, settled_tokens = 100000`)
	r := handlertest.Request(http.MethodGet, "/budgets/"+b.ID.String()+"/ledger.csv", nil)
	for _, c := range d.Cookies {
		r.AddCookie(c)
	}
	w, before := &stream{ResponseRecorder: httptest.NewRecorder()}, inUse()
	d.ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.lines != 100_002 {
		t.Fatalf("%d, %d lines", w.Code, w.lines)
	}
	slices.Sort(w.live) // other tests run meanwhile
	if len(w.live) < 5 || w.live[len(w.live)/2]-before > w.size/2 {
		t.Errorf("of %d bytes much is in use at once: %v, %d before", w.size, w.live, before)
	}
}
