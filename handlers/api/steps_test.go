package api_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// stepOf is a step of a number.
func stepOf(n int, kind string, more ...object) object {
	s := object{"n": n, "kind": kind, "title": fmt.Sprint(kind, " ", n)}
	for _, m := range more {
		s = merge(s, m)
	}
	return s
}

func TestAnAgentTellsItsSteps(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Build")
	lease := w.claim(ada)
	steps := func(list ...object) object { return merge(lease, object{"steps": list}) }
	at := "2026-11-21T10:00:00.5+01:00"
	a := w.as(ada, "POST", "/fleet/steps", steps(
		stepOf(1, "message", object{"at": at, "text": "\u202ehe\x1b[2J\r\n"}), stepOf(2, "tool", object{"tool": "Bash", "text": "make"}),
		stepOf(3, "output", object{"tool": "Bash"}), stepOf(4, "edit", object{"path": "a.go", "text": "-a\n+b"}),
		stepOf(5, "usage", object{"tokens": 1200, "cost_usd": "0.0123"}))).want(200)
	if a.text("directive") != "continue" || a.number("next_step") != 6 {
		t.Errorf("standing %s", a.raw)
	}
	w.as(ada, "POST", "/fleet/steps", steps(stepOf(5, "message"), stepOf(6, "reasoning"))).want(200)
	gap := w.as(ada, "POST", "/fleet/steps", steps(stepOf(8, "message"))).want(409)
	if gap.refused(fault.StepGap); gap.number("next_step") != 7 {
		t.Errorf("a gap: %s", gap.raw)
	}

	path := "/jobs/" + key + "/attempts/1/steps"
	all := w.as(w.owner, "GET", path, nil).want(200)
	if all.count("items") != 6 || all.number("last") != 6 || all.number("tokens") != 1200 || all.text("cost_usd") != "0.012300000" ||
		all.number("next_after") != 6 || all.text("items", 0, "text") != "\u202ehe\x1b[2J\r\n" ||
		all.text("items", 0, "at") != "2026-11-21T09:00:00.5Z" || all.text("items", 3, "path") != "a.go" || all.text("items", 4, "kind") != "usage" {
		t.Errorf("the transcript is %s", all.raw)
	}
	one := w.as(ada, "GET", path+"?limit=2&kind=edit&kind=usage&kind=reasoning", nil).want(200)
	rest := w.as(ada, "GET", fmt.Sprint(path, "?kind=edit&kind=usage&kind=reasoning&after=", one.number("next_after")), nil).want(200)
	if one.count("items") != 2 || rest.count("items") != 1 || rest.number("items", 0, "n") != 6 || rest.at("more") != false {
		t.Errorf("page by page: %s, %s", one.raw, rest.raw)
	}
	for _, missing := range []string{"/jobs/" + key + "/attempts/2/steps", "/jobs/NO-1/attempts/1/steps", "/jobs/NO-1/attempts/1/steps/stream",
		"/jobs/" + key + "/attempts/2/steps/stream"} {
		w.as(w.owner, "GET", missing, nil).want(404).refused(fault.NotFound)
	}
	for _, bad := range []string{"kind=loud", "after=-1", "limit=201"} {
		w.as(w.owner, "GET", path+"?"+bad, nil).want(422).refused(fault.Validation)
	}
}

func TestRefusedCallsOfSteps(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Build")
	w.claim(ada)
	body := func(step string) string { return fmt.Sprintf(`{"job":%q,"epoch":1,"steps":[%s]}`, key, step) }
	with := func(more string) string { return body(`{"n":1,"kind":"message","title":"x"` + more + `}`) }
	for name, c := range map[string]struct {
		body, field string
		code        fault.Code
	}{
		"NUL":            {with(`,"text":"a\u0000b"`), "steps[0].text", fault.Validation},
		"half a letter":  {with(`,"text":"a\ud83db"`), "steps[0].text", fault.Validation},
		"a long text":    {with(`,"text":"` + strings.Repeat("x", 32_001) + `"`), "steps[0].text", fault.Validation},
		"two lines":      {body(`{"n":1,"kind":"message","title":"a\nb"}`), "steps[0].title", fault.Validation},
		"unknown kind":   {body(`{"n":1,"kind":"loud","title":"x"}`), "steps[0].kind", fault.Validation},
		"unknown field":  {with(`,"colour":"red"`), "steps[0].colour", fault.Malformed},
		"a cost":         {with(`,"cost_usd":"-1"`), "steps[0].cost_usd", fault.Validation},
		"a huge cost":    {with(`,"cost_usd":"1e99"`), "steps[0].cost_usd", fault.Validation},
		"half a number":  {body(`{"n":1.5,"kind":"message","title":"x"}`), "steps[0].n", fault.Malformed},
		"a huge number":  {body(`{"n":9223372036854775808,"kind":"message","title":"x"}`), "steps[0].n", fault.Validation},
		"a blob":         {with(`,"blob":"abc"`), "steps[0].blob", fault.Validation},
		"year 10000":     {with(`,"at":"9999-12-31T23:59:59-12:00"`), "steps[0].at", fault.Validation},
		"none":           {body(``), "steps", fault.Validation},
		"501":            {body(strings.Repeat(`{"n":1,"kind":"message","title":"x"},`, 500) + `{"n":1,"kind":"message","title":"x"}`), "steps", fault.Validation},
		"out of order":   {body(`{"n":2,"kind":"message","title":"x"},{"n":1,"kind":"message","title":"x"}`), "steps[1].n", fault.Validation},
		"10 MB of texts": {body(`{"n":1,"kind":"message","title":"` + strings.Repeat("x", 10<<20) + `"}`), "", fault.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if c.field == "" {
				exchange(t, w.url, request{token: ada, method: "POST", path: "/fleet/steps", body: c.body}).refused(c.code)
				return
			}
			exchange(t, w.url, request{token: ada, method: "POST", path: "/fleet/steps", body: c.body}).refused(c.code, c.field)
		})
	}
	if a := w.as(w.owner, "GET", "/jobs/"+key+"/attempts/1/steps", nil).want(200); a.count("items") != 0 || a.number("last") != 0 {
		t.Errorf("what was refused is kept: %s", a.raw)
	}
	w.as(ada, "POST", "/fleet/steps", object{"job": key, "epoch": 2, "steps": []object{stepOf(1, "message")}}).want(409).refused(fault.StaleEpoch)
	w.as(w.owner, "POST", "/fleet/steps", object{"job": key, "epoch": 1, "steps": []object{stepOf(1, "message")}}).want(403)
}

// A stream gives what there is and then what comes, each step once, from where its reader was.
func TestAStreamOfSteps(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Build")
	lease := w.claim(ada)
	tell := func(steps ...object) {
		w.as(ada, "POST", "/fleet/steps", merge(lease, object{"steps": steps})).want(200)
	}
	tell(stepOf(1, "message"), stepOf(2, "tool"), stepOf(3, "message"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/api/v1/jobs/"+key+"/attempts/1/steps/stream?after=9&kind=message", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.owner)
	req.Header.Set("Last-Event-ID", "1")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return ""
	}
	got := next()
	if !strings.Contains(got, `"title":"message 3"`) {
		t.Errorf("first came %s", got)
	}
	seen := answer{t: t, status: response.StatusCode, header: response.Header, raw: []byte("data: " + got)}
	seen.checkAgainst(req, nil)
	tell(stepOf(4, "tool"), stepOf(5, "message"))
	if got := next(); !strings.Contains(got, `"title":"message 5"`) {
		t.Errorf("then came %s", got)
	}
}
