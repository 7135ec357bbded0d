package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// long is a name of 62 characters without a place to break it, for what may have that many.
func long(what string) string {
	return (what + "_" + strings.Repeat("settlement_orchestrator_", 3))[:62]
}

// misfits lists what a page shows beyond its panel, over other text or cut without a mark, and
// what scrolls sideways that is not a box for it.
const misfits = `() => {
	const boxes = ".panel, .job, .done-row, .rq, .need, .fac, .fac-h, .strip > div, .note, .top, .side, .dockbar, .file, .empty, .chip, .pill, .btn, .rv-bar, .form-bar, .bsum > *, th, td, .msg, .err-in, .login-box";
	const sideways = ".overflow-x-auto, .ub-t, .board, .hunk, .code, pre, .tabs-line, .tabs-m, .settings-nav, .filters-tabs, .tl-groups, .gr-s, .log, .md table, textarea, input, .fleet-b";
	const found = new Set();
	const name = (el) => el.tagName.toLowerCase() + (el.id ? "#" + el.id : "") + [...el.classList].slice(0, 3).map((c) => "." + c).join("");
	const say = (what, text, el) => found.add(what + ": " + JSON.stringify(text.trim().slice(0, 90)) + " in " + name(el));
	const shown = (el) => el.checkVisibility({ opacityProperty: true, visibilityProperty: true });
	for (const el of document.querySelectorAll("*")) {
		const style = getComputedStyle(el);
		if (el.clientWidth === 0 || el.scrollWidth <= el.clientWidth + 1 || el.matches(sideways)) continue;
		if (el === document.documentElement || /auto|scroll/.test(style.overflowX)) {
			const wide = [...el.querySelectorAll("*")].filter((x) => x.checkVisibility() && x.getBoundingClientRect().right > el.getBoundingClientRect().right + 1 &&
				(!x.closest(sideways) || x.closest(sideways).contains(el) || x.matches(sideways)));
			say("scrolls sideways", wide.slice(-3).map(name).join(", "), el);
		}
	}
	const lines = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node = walk.nextNode(); node; node = walk.nextNode()) {
		const at = node.parentElement;
		if (!node.data.trim() || at.closest("dialog, [popover], template, script, svg, .skip, #toasts, option") || !shown(at)) continue;
		const range = document.createRange();
		range.selectNodeContents(node);
		for (const r of range.getClientRects()) {
			if (r.width < 2) continue;
			let left = r.left, right = r.right, top = r.top, bottom = r.bottom, hidden = false, box = null, own = null;
			for (let el = at; el && el !== document.body; el = el.parentElement) {
				const style = getComputedStyle(el), b = el.getBoundingClientRect();
				if (b.width <= 1 || b.height <= 1) { hidden = true; break; }
				if (style.display === "contents") continue;
				if (!own && !/^inline/.test(style.display)) {
					own = el;
					if (style.overflowX === "visible" && (right > b.right + 1 || left < b.left - 1)) say("is wider than its place", node.data, el);
				}
				if (style.overflowX !== "visible") {
					if (right > b.right + 1 && /hidden|clip/.test(style.overflowX) && style.textOverflow !== "ellipsis" && style.webkitLineClamp === "none" && left < b.right)
						say("is cut", node.data, el);
					if (/^\W*\$[\d,.]+$/.test(node.data.trim()) && right > b.right + 1 && /hidden|clip/.test(style.overflowX)) say("cuts money", node.data, el);
					left = Math.max(left, b.left); right = Math.min(right, b.right);
				}
				if (style.overflowY !== "visible") { top = Math.max(top, b.top); bottom = Math.min(bottom, b.bottom); }
				if (right <= left || bottom <= top) { hidden = true; break; }
				if (el.matches(boxes)) {
					box ??= el;
					if (right > b.right + 1 || left < b.left - 1) { say("reaches beyond", node.data, el); break; }
					if (bottom > b.bottom + 3 || top < b.top - 3) { say("hangs out of", node.data, el); break; }
				}
				if (/auto|scroll/.test(style.overflowX) && el.scrollWidth > el.clientWidth) break;
			}
			if (!hidden && box) lines.push({ node, at, box, left, right, top, bottom });
		}
	}
	const byBox = Map.groupBy(lines, (l) => l.box.closest(".panel, tr, .job, .top, .side") ?? l.box);
	for (const list of byBox.values()) {
		if (list.length > 600) continue;
		for (const [i, a] of list.entries()) for (const b of list.slice(i + 1)) {
			if (a.node === b.node || a.at.closest(".sticky, thead") || b.at.closest(".sticky, thead")) continue;
			const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
			if (wide > 2 && high > 5) say("lies over " + JSON.stringify(b.node.data.trim().slice(0, 30)), a.node.data, a.box);
		}
	}
	return JSON.stringify([...found]);
}`

// wantFit fails the test where something on the page does not fit.
func (v *visitor) wantFit(name string) {
	v.t.Helper()
	if dir := os.Getenv("FLEETBOARD_E2E_PICTURES"); dir != "" {
		v.picture(filepath.Join(dir, name+".png"))
	}
	raw, err := v.tab.Evaluate(misfits)
	v.must("measure", err)
	var found []string
	if err := json.Unmarshal([]byte(fmt.Sprint(raw)), &found); err != nil {
		v.t.Fatal(err)
	}
	if len(found) > 0 {
		v.t.Errorf("%s:\n\t%s", name, strings.Join(found, "\n\t"))
	}
}

// At every width nothing reaches beyond its panel, however long the names are, and no page
// scrolls sideways.
func TestNothingRunsOutOfItsPanel(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	paths := furnishLong(t, s)
	owner := s.visit(desktop)
	owner.logIn()
	owner.invites(long("member")+fmt.Sprint(time.Now().UnixNano())+"@"+long("company")[:50]+".example", long("Member"), "viewer")
	for _, width := range []int{360, 390, 768, 1024, 1440} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			theme := map[bool]string{true: "light", false: "dark"}[width%100 == 40]
			v := s.in(t).visit(look{theme: theme, width: width, height: 900})
			v.open("/login")
			v.wantFit(fmt.Sprint("fit-login-", width))
			v.logIn()
			for name, path := range paths {
				v.open(path)
				v.wantFit(fmt.Sprintf("fit-%s-%d", name, width))
			}
		})
	}
}

// furnishLong fills a workspace with long names wherever there are names, and returns the pages
// that show them.
func furnishLong(t *testing.T, s *server) map[string]string {
	t.Helper()
	product, repo, model := long("product"), long("repo"), long("model")
	capability := "has:" + long("tool")[:58]
	agent := s.agent(long("agent"), func(r *api.Registration) {
		r.Model, r.Roles = &model, &[]string{"worker", "orchestrator"}
		r.Factory = api.FactoryInfo{Name: long("factory"), Host: number(long("host")), OS: number("linux"), Seats: number(12), Engines: &[]string{long("engine"), "claude"},
			Capabilities: &[]string{capability, "os:linux"}, Repos: &[]api.Repo{{Name: repo}, {Name: "ledger-api"}},
			Unavailable: &[]api.Unavailable{{Kind: api.UnavailableRepo, Name: repo, Since: time.Now().Add(-time.Hour), Reason: "fatal: " + long("reason")}},
			Rescued:     &[]api.Rescued{{Name: long("rescued"), Why: "The files are kept", Path: "/home/build/" + long("path"), Since: time.Now()}}}
	})
	s.beat(agent, long("agent"))
	gone := s.agent(long("gone"), func(r *api.Registration) { r.Factory.Name = long("closed_factory") })
	if answer, err := gone.EndAgentWithResponse(t.Context(), long("gone")); err != nil || answer.StatusCode() >= 300 {
		t.Fatalf("the end of an agent: %v", err)
	}
	owner := s.owner()
	act := func(what string, answer interface{ StatusCode() int }, err error) {
		t.Helper()
		if err != nil || answer.StatusCode() >= 300 {
			t.Fatalf("%s: %v %d", what, err, answer.StatusCode())
		}
	}
	made, err := owner.PutProductWithResponse(t.Context(), product, api.ProductSettings{Repos: &[]string{repo}})
	act("product", made, err)
	limit, ledgers := "351.7566913", map[string]string{}
	for _, b := range []api.NewBudget{{Name: long("budget"), Scope: api.BudgetScopeWorkspace, LimitUSD: &limit},
		{Name: long("milestone"), Scope: api.BudgetScopeProduct, Product: &product, LimitUSD: number("120")}} {
		b.Period, b.Hard = api.BudgetPeriodMonth, number(false)
		answer, err := owner.CreateBudgetWithResponse(t.Context(), b)
		act("budget", answer, err)
		ledgers["ledger-"+string(b.Scope)] = "/budgets/" + answer.JSON201.ID + "/ledger"
	}
	branch := "feature/" + long("branch")
	job := func(title string, change func(*api.NewJob)) {
		t.Helper()
		j := api.NewJob{Title: title, Product: &product, Phase: number(long("phase")), Tags: &[]string{long("tag"), long("other_tag")},
			Kind: number(long("kind")), Acceptance: &[]string{long("criterion"), "It is as fast as before"}, Body: number("See `" + long("code") + "` and " + long("word"))}
		change(&j)
		answer, err := owner.CreateJobWithResponse(t.Context(), nil, j)
		act("job", answer, err)
	}
	for range 3 {
		job(long("handed_in"), func(j *api.NewJob) { j.ReviewRequired = number(true) })
		done := claimed(t, agent)
		spend(t, agent, done, model, "951.5678901")
		answer, err := agent.CompleteJobWithResponse(t.Context(), api.Completion{Job: done.Key, Epoch: done.Lease.Epoch, Branch: &branch, Commit: number(strings.Repeat("9be04d1f", 5)),
			URL: number("https://forge.example/" + long("pull")), Summary: number(long("summary")), FilesTouched: &[]string{"internal/" + long("folder") + "/" + long("file") + ".go"},
			Result: api.FreeForm(`{"diff": ` + quoted(strings.ReplaceAll(sampleChange, "drain", long("drain"))) + `, "model": ` + quoted(model) + `}`)})
		act("complete", answer, err)
	}
	approved, err := owner.ApproveJobWithResponse(t.Context(), "FB-2", api.ApproveAction{})
	act("approve", approved, err)
	merged, err := owner.MergeJobWithResponse(t.Context(), "FB-2", api.MergeAction{})
	act("merge", merged, err)
	job(long("running"), func(*api.NewJob) {})
	runs := claimed(t, agent)
	spend(t, agent, runs, model, "0.6761255")
	progress(t, agent, runs.Key, 62, long("step"))
	write(t, agent, runs.Key, api.ERROR, long("message"), "go: "+long("module"))
	job(long("asks"), func(*api.NewJob) {})
	ask(t, agent, "Is "+long("question")+" the right one?")
	job(long("failed"), func(j *api.NewJob) { j.Priority = number(9) })
	failed := claimed(t, agent)
	spend(t, agent, failed, model, "0.0000017")
	answer, err := agent.FailJobWithResponse(t.Context(), api.Failure{Job: failed.Key, Epoch: failed.Lease.Epoch, Error: "panic: " + long("error"), Retryable: number(false)})
	act("fail", answer, err)
	job(long("waits"), func(j *api.NewJob) { j.DependsOn = &[]string{"FB-1", "FB-4"} })
	job(long("unroutable"), func(j *api.NewJob) { j.Capabilities, j.Repo = &[]string{"has:" + long("missing")[:58]}, &repo })
	job(long("secret"), func(j *api.NewJob) {
		j.SecretKeys, j.InputContext = &[]string{long("token")}, api.FreeForm(`{"`+long("token")+`": "x", "`+long("input")+`": "`+long("value")+`"}`)
	})
	named := long("key")
	job(long("named"), func(j *api.NewJob) { j.Key = &named; j.DependsOn = &[]string{"FB-1"} })
	send(t, agent, api.NewMessage{Type: "custom." + long("type")[:50], To: api.NewMessageAddress{Agent: number(long("agent"))}, Job: number("FB-4"),
		Payload: api.FreeForm(`{"text": "` + long("text") + `", "` + long("field") + `": 12}`)})
	send(t, agent, api.NewMessage{Type: "custom.note", To: api.NewMessageAddress{Role: number("orchestrator")}, CorrelationID: number(long("thread")), Payload: api.FreeForm(`{"text": "` + long("words") + `"}`)})
	stopped, err := owner.StopFleetWithResponse(t.Context(), api.StopOrder{Products: &[]string{product}, Hold: api.StopOrderHoldClaims,
		Reason: "Until " + long("reason") + " is known"})
	act("stop", stopped, err)
	e := &evil{server: s, acceptedByPlace: map[string]int{}}
	e.logIn()
	for path, fields := range map[string]url.Values{
		"/settings/account":             {"name": {long("Person")}},
		"/settings/workspace":           {"name": {long("Workspace")}},
		"/settings/members/invitations": {"email": {long("guest") + "@" + long("company")[:50] + ".example"}, "role": {"viewer"}},
		"/settings/tokens":              {"kind": {"person"}, "name": {long("token")}, "life": {"90"}, "form_key": {"00000000-0000-7000-8000-000000000001"}},
	} {
		if status := e.form(path, fields); status >= 400 {
			t.Fatalf("%s: %d", path, status)
		}
	}
	list := maps.Clone(ledgers)
	for name, path := range pages {
		if name != "login" {
			list[name] = path
		}
	}
	for n := range 9 {
		list[fmt.Sprint("job-", n+1)] = fmt.Sprint("/jobs/FB-", n+1)
	}
	for name, path := range map[string]string{"job-named": "/jobs/" + named, "edit-named": "/jobs/" + named + "/edit", "product": "/settings/products/" + product,
		"thread": "/messages?thread=FB-4", "review-1": "/review?job=FB-1", "review-3": "/review?job=FB-3", "usage-of": "/usage?model=" + model,
		"search": "/search?q=settlement_orchestrator", "search-logs": "/search?q=" + long("message") + "&in=logs", "search-messages": "/search?q=" + long("text") + "&in=messages",
		"board-factory": "/board?group=factory", "board-repo": "/board?group=repo", "board-product": "/board?product=" + product,
		"log": "/jobs/FB-4/log", "attempts": "/jobs/FB-6/attempts", "retry": "/jobs/new?from=FB-6", "column": "/board/column/review",
		"timeline-of": "/timeline?job=" + named, "message-q": "/messages?q=" + long("words"), "token-new": "/settings/tokens/new?kind=enrolment"} {
		list[name] = path
	}
	return list
}

// beat sends an agent's heartbeats while the test runs, so that it keeps what it holds.
func (s *server) beat(agent *api.ClientWithResponses, name string) {
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ended := make(chan struct{})
	s.t.Cleanup(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		for signal.Sleep(ctx, 5*time.Second) == nil {
			_, _ = agent.HeartbeatWithResponse(ctx, name, api.Heartbeat{BootID: "boot-of-" + name, Status: api.HeartbeatStatusWorking}) // the next one follows
		}
	}()
}

func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

// spend reports usage of an attempt with a model.
func spend(t *testing.T, agent *api.ClientWithResponses, job api.Job, model, usd string) {
	t.Helper()
	answer, err := agent.ReportUsageWithResponse(t.Context(), api.UsageReport{Job: &job.Key, Epoch: &job.Lease.Epoch, Entries: []api.UsageEntry{{
		ID: "of-" + job.Key, Provider: long("provider"), Model: model, InputTokens: 987_654_321, OutputTokens: 900, CostUSD: json.RawMessage(usd), At: time.Now()}}})
	if err != nil || answer.StatusCode() != http.StatusOK || answer.JSON200.Results[0].Status != api.UsageResultStatusRecorded {
		t.Fatalf("tell usage: %v %s", err, answer.Body)
	}
}
