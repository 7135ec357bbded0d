package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// TestFactoriesAndAgents looks at the fleet and runs it.
func TestFactoriesAndAgents(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	if said := w.fleet("factory", "list").ok(); !strings.Contains(said, "no factories") {
		t.Errorf("nothing there: %q", said)
	}
	key := w.create("One", "--repo", "ledger-api")
	w.fleet("job", "claim", "--agent", "ada", "--factory", "attic", "--repo", "ledger-api", "--engine", "claude", "--model", "m-1").ok()
	if said := w.fleet("factory", "list").ok(); !strings.Contains(said, "attic") || !strings.Contains(said, "ledger-api") || !strings.Contains(said, "claude") {
		t.Errorf("factories: %q", said)
	}
	if said := w.fleet("factory", "show", "attic").ok(); !strings.Contains(said, "ada") || !strings.Contains(said, "1 of 100 taken") {
		t.Errorf("the factory: %q", said)
	}
	if said := w.fleet("agent", "list", "--factory", "attic", "--health", "healthy").ok(); !strings.Contains(said, "m-1") {
		t.Errorf("agents: %q", said)
	}
	if said := w.fleet("agent", "show", "ada").ok(); !strings.Contains(said, "1 of 100") {
		t.Errorf("the agent: %q", said)
	}
	if said := w.fleet("agent", "jobs", "ada").ok(); !strings.Contains(said, key) {
		t.Errorf("its jobs: %q", said)
	}
	if said := w.fleet("factory", "drain", "attic").ok(); !strings.Contains(said, "attic drains; jobs that it has now: 1") {
		t.Errorf("drain: %q", said)
	}
	w.create("Two")
	if said := w.fleet("job", "claim", "--agent", "ada", "--factory", "attic").ends(7).err; !strings.Contains(said, "drains") {
		t.Errorf("a claim of a drained factory: %q", said)
	}
	w.fleet("factory", "undrain", "attic").ok()
	w.fleet("factory", "remove", "attic").ends(3)
	w.fleet("agent", "terminate", "ada").ends(2)
	if said := w.fleet("agent", "terminate", "ada", "--reason", "gone home").ok(); !strings.Contains(said, "ada was ended") {
		t.Errorf("terminate: %q", said)
	}
	w.fleet("agent", "show", "nobody").ends(4)
}

// TestStopAndRelease stops a product and all, and lets both go on.
func TestStopAndRelease(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	w.fleet("product", "set", "ledger").ok()
	if said := w.fleet("stops").ok(); !strings.Contains(said, "Nothing is stopped.") {
		t.Errorf("stops: %q", said)
	}
	w.fleet("stop").ends(2)
	if said := w.fleet("stop", "ledger", "--reason", "the release is cut").ok(); !strings.Contains(said, "ledger") || !strings.Contains(said, "new claims") {
		t.Errorf("stop: %q", said)
	}
	w.create("One", "--product", "ledger")
	if said := w.fleet("job", "claim", "--agent", "ada", "--factory", "attic").ends(7).err; !strings.Contains(said, "work is stopped") {
		t.Errorf("a claim while it is stopped: %q", said)
	}
	w.fleet("stop", "nowhere", "--reason", "x").ends(2)
	w.fleet("stop", "--hold", "all", "--reason", "the model writes nonsense").ok()
	var stops api.StopList
	w.fleet("stops", "--json").into(&stops)
	if len(stops.Items) != 2 || stops.Items[0].Product != nil || stops.Items[0].Hold != api.StopHoldAll || *stops.Items[1].Product != "ledger" {
		t.Errorf("stops: %+v", stops)
	}
	if said := w.fleet("release", "ledger").ok(); !strings.Contains(said, "the whole fleet") {
		t.Errorf("release: %q", said)
	}
	w.fleet("release").ok()
	w.fleet("job", "claim", "--agent", "ada", "--factory", "attic").ok()
}

// TestProducts changes what is named of a product and leaves the rest.
func TestProducts(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	w.fleet("product", "set", "ledger", "--repos", "api,web", "--review", "--review-limit", "3").ok()
	w.fleet("product", "set", "ledger", "--merge-by", "worker", "--merge-checks", "make test").ok()
	w.fleet("product", "set", "ledger", "--add-repo", "docs", "--drop-repo", "web", "--paused").ok()
	var p api.Product
	w.fleet("product", "show", "ledger", "--json").into(&p)
	if strings.Join(p.Repos, " ") != "api docs" || !p.ReviewRequired || !p.Paused || p.ReviewLimit == nil || *p.ReviewLimit != 3 ||
		p.MergeBy != api.MergeByWorker || p.MergeChecks != "make test" {
		t.Errorf("the product is %+v", p)
	}
	if said := w.fleet("product", "list").ok(); !strings.Contains(said, "ledger") || !strings.Contains(said, "api, docs") {
		t.Errorf("products: %q", said)
	}
	w.fleet("product", "remove", "ledger").ok()
	w.fleet("product", "show", "ledger").ends(4)
}

// TestMoney raises and moves what budgets have, by name.
func TestMoney(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	owner := w.client(w.owner)
	for _, name := range []string{"all", "spare", "twice", "twice"} {
		limit := "10"
		if _, err := owner.CreateBudgetWithResponse(t.Context(), api.NewBudget{Name: name, Scope: "workspace", Period: "month", LimitUSD: &limit}); err != nil {
			t.Fatal(err)
		}
	}
	var b api.Budget
	w.fleet("budget", "raise", "all", "5", "--until", "+2h", "-m", "a busy day", "--json").into(&b)
	if *b.State.LimitUSD != "15.000000000" {
		t.Errorf("raised to %s", *b.State.LimitUSD)
	}
	if said := w.fleet("budget", "transfer", "spare", "all", "4").ok(); !strings.Contains(said, "$6.00") {
		t.Errorf("transfer: %q", said)
	}
	w.fleet("budget", "transfer", "spare", "all", "40").ends(3)
	w.fleet("budget", "raise", "twice", "1").ends(2)
	w.fleet("budget", "show", "nothing").ends(4)
	if said := w.fleet("budget", "show", b.ID).ok(); !strings.Contains(said, "$19.00") {
		t.Errorf("the budget: %q", said)
	}
	if said := w.fleet("budget", "list").ok(); !strings.Contains(said, "spare") || !strings.Contains(said, "$6.00") {
		t.Errorf("budgets: %q", said)
	}
	var u api.UsageSummary
	w.fleet("usage", "--by", "model", "--since", "7d", "--json").into(&u)
	if u.GroupBy != "model" || u.To.Sub(u.From) < 7*24*time.Hour {
		t.Errorf("usage: %+v", u)
	}
	if said := w.fleet("usage").ok(); !strings.Contains(said, "all") {
		t.Errorf("usage: %q", said)
	}
	if said := w.fleet("usage", "--focus", "--since", "7d").ok(); !strings.HasPrefix(said, "BilledCost,BillingAccountId,") {
		t.Errorf("charges: %q", said)
	}
	w.fleet("usage", "--focus", "--by", "model").ends(2)
	w.fleet("usage", "--by", "colour").ends(2)
	w.fleet("usage", "--since", "someday").ends(2)
}

// TestDoctor says what is good and what is not, and ends with 1 where something is bad.
func TestDoctor(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	var all struct {
		Items []struct{ What, State, Said string }
	}
	w.fleet("doctor", "--json").into(&all)
	said := map[string]string{}
	for _, one := range all.Items {
		said[one.What] = one.State + ": " + one.Said
	}
	for what, want := range map[string]string{"server": "ok", "clock": "ok: like", "enrolment": "ok: there is an enrolment token",
		"token": "ok: of FLEETBOARD_TOKEN: it may see the board, decide about jobs, run the fleet, manage products and budgets"} {
		if !strings.HasPrefix(said[what], want) {
			t.Errorf("%s: %q, want %q", what, said[what], want)
		}
	}
	var jobs api.JobPage
	if w.fleet("job", "list", "--json").into(&jobs); len(jobs.Items) > 0 {
		t.Errorf("the doctor made %d jobs", len(jobs.Items))
	}
	w.env["FLEETBOARD_TOKEN"] = w.enrolment
	if r := w.fleet("doctor").ends(1); !strings.Contains(r.out, "neither see nor change") {
		t.Errorf("with an enrolment token: %s", r.out)
	}
	w.env["FLEETBOARD_TOKEN"] = w.owner
	w.now = time.Now().Add(time.Hour)
	if said := w.fleet("doctor").ok(); !strings.Contains(said, "from the server's") {
		t.Errorf("with another clock: %s", said)
	}
	w.now = time.Time{}
	w.env["FLEETBOARD_URL"] = "http://127.0.0.1:1"
	w.fleet("doctor").ends(1)
}

// TestCompletion offers what is there: jobs a decision can be said of, repositories and
// factories, with their titles made harmless.
func TestCompletion(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	one, two := w.create("One red\u202e", "--repo", "ledger-api"), w.create("Two")
	w.fleet("job", "block", two, "-m", "x").ok()
	w.fleet("product", "set", "ledger", "--repos", "web").ok()
	w.fleet("job", "claim", "--factory", "attic", "--repo", "ledger-api").ok()
	for line, want := range map[string]string{
		"job unblock |":             two,
		"job unblock " + two + " |": "",
		"job pause |":               one,
		"job show " + one + "|":     one,
		"job show " + one + " |":    "",
		"job list --repo |":         "web ledger-api",
		"job list --repo w|":        "web",
		"job list --product |":      "default ledger",
		"job list --status run|":    "running",
		"factory drain |":           "attic",
		"product show |":            "default ledger",
	} {
		out := w.fleet(append([]string{"__complete"}, words(line)...)...).ok()
		var got []string
		for _, l := range strings.Split(out, "\n") {
			if name, _, _ := strings.Cut(l, "\t"); name != "" && !strings.HasPrefix(l, ":") {
				got = append(got, name)
			}
			if strings.ContainsAny(l, "\x1b\u202e") {
				t.Errorf("%s offers a control character: %q", line, l)
			}
		}
		if wanted := strings.Fields(want); line != "job list --status run|" && strings.Join(got, " ") != strings.Join(wanted, " ") || len(got) == 0 && want != "" {
			t.Errorf("%s offers %q, want %q", line, got, wanted)
		}
	}
	w.env["FLEETBOARD_URL"] = "http://127.0.0.1:1"
	w.fleet("__complete", "job", "show", "").ok()
}

// TestCompletionDoesNotWait: a server that gives no answer keeps no shell waiting.
func TestCompletionDoesNotWait(t *testing.T) {
	t.Parallel()
	w := newTerminal(t)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	w.env["FLEETBOARD_URL"], w.env["FLEETBOARD_TOKEN"] = silent.URL, "fb_person_x"
	if out := w.fleet("__complete", "job", "show", "").ok(); out != ":4\n" {
		t.Errorf("it offers %q", out)
	}
}

// words splits a line as a shell does that completes at the bar.
func words(line string) []string {
	return strings.Split(strings.TrimSuffix(line, "|"), " ")
}

// TestHostileTexts: what agents write controls no terminal, neither in tables nor as JSON.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	bad := "One \x1b]0;owned\x07 \u009b31m two\u202e\r\nthree"
	key := w.create("Turned \u202e", "--body", bad)
	w.fleet("job", "claim", "--agent", "ada").ok()
	agent := w.agent()
	if _, err := agent.WriteLogsWithResponse(t.Context(), api.LogBatch{Job: key, Epoch: 1,
		Lines: []api.NewLogLine{{Level: "ERROR", Message: bad}}}); err != nil {
		t.Fatal(err)
	}
	w.fleet("job", "fail", key, "--error", bad).ok()
	if _, err := agent.ReportDeliveryWithResponse(t.Context(), api.DeliveryReport{Job: key, Epoch: 1,
		State: api.DeliveryStateRefused, Branch: "b", Commit: "c", Detail: &bad}); err != nil {
		t.Fatal(err)
	}
	if said := w.fleet("job", "show", key).ok(); !strings.Contains(said, "c on b: refused by the origin") || !strings.Contains(said, "three") {
		t.Errorf("show said %q", said)
	}
	w.terminal = true
	w.env["NO_COLOR"] = "1"
	for _, line := range []string{"job list", "job show " + key, "job logs " + key, "events", "job list --json", "job show --json " + key,
		"job logs --json " + key, "events --json", "job explain " + key} {
		out := w.fleet(strings.Fields(line)...).ok()
		if i := strings.IndexAny(out, "\x1b\x07\r\u009b\u202e"); i >= 0 {
			t.Errorf("%s printed %q", line, out[i:min(len(out), i+20)])
		}
	}
	var job api.Job
	if w.fleet("job", "show", key, "--json").into(&job); job.Body != bad {
		t.Errorf("as JSON the body is %q", job.Body)
	}
}

// TestDispatch changes how jobs are given out in parts.
func TestDispatch(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	w.fleet("product", "set", "ledger").ok()
	w.fleet("dispatch", "set", "--product-weight", "ledger=3", "--weight", "load=7", "--ageing-minutes", "60").ok()
	if said := w.fleet("dispatch", "set", "--offer-seconds", "20").ok(); !strings.Contains(said, "one priority every 60 minutes") ||
		!strings.Contains(said, "ledger 3") || !strings.Contains(said, "load 7, cost_fit 1") {
		t.Errorf("set: %q", said)
	}
	var d api.DispatchSettings
	w.fleet("dispatch", "show", "--json").into(&d)
	if d.OfferSeconds != 20 || d.ProductWeights["ledger"] != 3 || d.Mode != api.DispatchModePull {
		t.Errorf("shown: %+v", d)
	}
	for _, args := range [][]string{{}, {"--weight", "load"}, {"--product-weight", "=3"}, {"--preempt-gap", "11"}, {"--mode", "fair"}} {
		w.fleet(append([]string{"dispatch", "set"}, args...)...).ends(2)
	}
}

// The way back from mode targeted is one line of the documentation, and what was offered is claimed
// after it.
func TestTheWayBackFromTargetedIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "The way back, at any time, strands nothing:\n\n```sh\nfleet ")
	line, _, documented := strings.Cut(after, "\n")
	if !documented {
		t.Fatal("docs/operating.md has no such line")
	}
	w := newServerAndTerminal(t)
	w.fleet("dispatch", "set", "--mode", "targeted").ok()
	w.fleet(strings.Fields(line)...).ok()
	var d api.DispatchSettings
	if w.fleet("dispatch", "show", "--json").into(&d); d.Mode != api.DispatchModePull {
		t.Errorf("after %q the mode is %s", line, d.Mode)
	}
}
