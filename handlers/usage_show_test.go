package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"fleetboard/internal/dispatch"
	"fleetboard/internal/spend"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
)

// use tells of a message under the lease, without a cost where that is "".
func (d *desk) use(agent tenancy.Principal, lease dispatch.Ref, id, cost string, input int64) {
	d.t.Helper()
	e := spend.Entry{ID: id, Provider: "anthropic", Model: "sonnet", Input: input, Output: 1234, CacheRead: 50_000, CostUSD: &cost, At: time.Now()}
	if cost == "" {
		e.CostUSD = nil
	}
	answers, err := d.elsewhere.RecordUsage(d.t.Context(), agent, []dispatch.UsageLine{{Lease: lease, Entry: e}})
	if err != nil || !answers[0].Recorded {
		d.t.Fatal(answers, err)
	}
}

// The job's page shows what each attempt used, and all of them; before anything was
// used it says nothing about it.
func TestUsageOnTheJobsPage(t *testing.T) {
	d := newDesk(t)
	agent, j := d.working()
	first := dispatch.Ref{Job: j.Key, Epoch: j.Epoch}
	for _, path := range []string{"/jobs/FB-1", "/jobs/FB-1/attempts"} {
		doc := page(t, d.get(path), http.StatusOK)
		for _, word := range []string{"Tokens", "Cost", "priced"} {
			if text := doc.Find("#attempts, #attempt-1").Text(); strings.Contains(text, word) {
				t.Errorf("%s: nothing was used, and the page says: %s", path, text)
			}
		}
	}
	d.use(agent, first, "m-1", "0.837", 1_234_567)
	doc := page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#attempts tr#attempt-1", "1,234,567 in, 1,234 out$0.84")
	wantText(t, doc, "#attempts td[title]", "1,234,567 in")
	if title := doc.Find("#attempt-1 td.num[title]").AttrOr("title", ""); title != "50,000 read from the cache" {
		t.Errorf("the tokens' title is %q", title)
	}
	wantCount(t, doc, "#attempts-used", 0)

	if _, err := d.elsewhere.Release(t.Context(), agent, first, "tired", nil); err != nil {
		t.Fatal(err)
	}
	got, err := d.elsewhere.Claim(t.Context(), agent, dispatch.ClaimRequest{})
	if err != nil || len(got.Jobs) != 1 {
		t.Fatal(got, err)
	}
	second := dispatch.Ref{Job: j.Key, Epoch: got.Jobs[0].Epoch}
	doc = page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#attempts tr#attempt-1", "$0.84")
	wantText(t, doc, "#attempts-used", "All attempts1,234,567 in, 1,234 out$0.84")
	d.use(agent, second, "m-2", "", 1)
	doc = page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#attempts tr#attempt-2", "1 in, 1,234 outunpriced")
	wantText(t, doc, "#attempts-used", "1,234,568 in, 2,468 out$0.84 + unpriced")
	d.use(agent, second, "m-3", "0.10", 0)
	doc = page(t, d.get("/jobs/FB-1/attempts"), http.StatusOK)
	wantText(t, doc, "#attempt-1", "Tokens1,234,567 in, 1,234 out 50,000 read from the cache Cost$0.84")
	wantText(t, doc, "#attempt-2", "Tokens1 in, 2,468 out 100,000 read from the cache Cost$0.10 + unpriced")
}

// Amounts are shown to the cent; what is missing in a sum is said.
func TestUsageInWords(t *testing.T) {
	t.Parallel()
	nanos := func(n spend.Nanos) *spend.Nanos { return &n }
	for _, c := range []struct {
		used spend.Usage
		want views.Used
	}{
		{spend.Usage{}, views.Used{}},
		{spend.Usage{Entries: 1}, views.Used{Tokens: "0 in, 0 out", Cost: "unpriced"}},
		{spend.Usage{Entries: 1, Input: 1, Output: 1000, CacheRead: 3, CacheWrite: 4_000_000, Cost: nanos(0)},
			views.Used{Tokens: "1 in, 1,000 out", Cache: "3 read from the cache, 4,000,000 written to the cache", Cost: "$0.00"}},
		{spend.Usage{Entries: 2, Cost: nanos(1), Unpriced: 1}, views.Used{Tokens: "0 in, 0 out", Cost: "under $0.01 + unpriced"}},
	} {
		if got := usedModel(c.used); got != c.want {
			t.Errorf("%+v is shown as %+v; want %+v", c.used, got, c.want)
		}
	}
	for n, want := range map[spend.Nanos]string{0: "$0.00", 1: "under $0.01", 9_999_999: "under $0.01", 10_000_000: "$0.01", 14_999_999: "$0.01",
		15_000_000: "$0.02", 994_999_999: "$0.99", 995_000_000: "$1.00", 1_234_567_890_000_000: "$1,234,567.89",
		9_223_372_036_854_775_807: "$9,223,372,036.85"} {
		if got := dollars(n); got != want {
			t.Errorf("%d nano-dollars are %s; want %s", n, got, want)
		}
	}
}
