package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// A pool's demand is counted without any factory, follows one from its start to its end, and
// both explanation and routability say that it can be started.
func TestAPoolFromZero(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	demand := func() answer { return w.as(w.owner, "GET", "/pools/gpu/demand", nil).want(200) }
	holds := func(when string, value, start, queued, running, starting, factories int) {
		t.Helper()
		got := demand()
		for name, want := range map[string]int{"value": value, "start": start, "queued": queued, "running": running, "starting": starting,
			"factories": factories, "offered": 0} {
			if got.number(name) != int64(want) {
				t.Errorf("%s: %s is %v, want %d", when, name, got.at(name), want)
			}
		}
	}
	body := object{"offers": object{"capabilities": []string{"has:gpu"}}, "max": 1}
	if p := w.as(w.owner, "PUT", "/pools/gpu", body).want(201); p.number("offers", "seats") != 1 || p.number("cool_down_seconds") != 300 {
		t.Errorf("it is %s", p.raw)
	}
	w.as(w.owner, "PUT", "/pools/gpu", body).want(200)
	holds("without jobs", 0, 0, 0, 0, 0, 0)

	routable := object{"capabilities": []string{"has:gpu"}}
	if said := w.as(w.owner, "POST", "/routability", routable).want(200); said.text("can_be_started", "pool") != "gpu" ||
		said.at("can_be_started", "cold_start_seconds") != nil {
		t.Errorf("routability says %s", said.raw)
	}
	made := w.as(w.owner, "POST", "/jobs", merge(routable, object{"title": "one"})).want(201)
	if made.text("routability", "can_be_started", "pool") != "gpu" {
		t.Errorf("the new job says %s", made.raw)
	}
	w.job("for others", object{"capabilities": []string{"has:tpu"}})
	w.job("for one factory", object{"capabilities": []string{"has:gpu"}, "factory": "gpu-1"})
	holds("one job", 1, 1, 1, 0, 0, 0)
	why := func(key string) answer { return w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200) }
	if said := why(made.text("key")); said.text("can_be_started", "pool") != "gpu" || said.text("reasons", 1, "code") != "can_be_started" {
		t.Errorf("it is explained by %s", said.raw)
	}

	step := func(name string) answer {
		return w.as(w.owner, "POST", "/pools/gpu/scaling", object{"factory": "gpu-1", "step": name})
	}
	if s := step("starting").want(200); s.text("start", "factory") != "gpu-1" {
		t.Errorf("the start is %s", s.raw)
	}
	holds("starting", 1, 0, 1, 0, 1, 0)
	w.as(w.owner, "POST", "/pools/gpu/scaling", object{"factory": "gpu-2", "step": "starting"}).want(409).refused(fault.InUse)
	dbfactory.Exec(t, w.db, "UPDATE pool_start SET started_at = started_at - interval '7900 milliseconds'")

	w.followsPool(holds, routable)
}

// followsPool follows the factory gpu-1 of the pool gpu from its registration to its end, and the
// pool to its own.
func (w *apiServer) followsPool(holds func(when string, value, start, queued, running, starting, factories int), routable object) {
	t := w.t
	demand := func() answer { return w.as(w.owner, "GET", "/pools/gpu/demand", nil).want(200) }
	why := func(key string) answer { return w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200) }
	step := func(name string) answer {
		return w.as(w.owner, "POST", "/pools/gpu/scaling", object{"factory": "gpu-1", "step": name})
	}
	agent := w.agent("ada", object{"factory": object{"name": "gpu-1", "pool": "gpu", "capabilities": []string{"has:gpu"}, "seats": 1}})
	holds("registered", 1, 0, 1, 0, 0, 1)
	if f := w.as(w.owner, "GET", "/factories/gpu-1", nil).want(200); f.text("pool") != "gpu" {
		t.Errorf("the factory is %s", f.raw)
	}
	if p := w.as(w.owner, "GET", "/pools/gpu", nil).want(200); p.number("cold_start_seconds") != 8 {
		t.Errorf("the pool is %s", p.raw)
	}
	w.claim(agent)
	holds("claimed", 1, 0, 0, 1, 0, 1)
	second := w.job("second", routable)
	if got := demand(); got.at("at_maximum") != true || got.number("value") != 1 {
		t.Errorf("at its maximum: %s", got.raw)
	}
	if said := why(second); said.number("can_be_started", "at_maximum") != 1 || !strings.Contains(string(said.raw), "has all its 1 factory") {
		t.Errorf("it is explained by %s", said.raw)
	}

	step("draining").want(200)
	step("undrained").want(200)
	step("ended").want(200)
	if got := demand(); got.number("factories") != 0 { // though its heartbeats are not missed yet
		t.Errorf("after its end: %s", got.raw)
	}
	if s := step("ended").want(200); s.at("start") != nil {
		t.Errorf("an end again is %s", s.raw)
	}
	h := w.as(w.owner, "GET", "/pools/gpu/history", nil).want(200)
	if h.text("members", 0, "factory") != "gpu-1" || h.number("members", 0, "seats_taken") != 1 || h.text("starts", 0, "ended_at") == "" ||
		h.count("samples") != 0 {
		t.Errorf("the history is %s", h.raw)
	}
	if all := w.as(w.owner, "GET", "/pools", nil).want(200); all.text("items", 0, "name") != "gpu" {
		t.Errorf("all are %s", all.raw)
	}
	w.as(w.owner, "DELETE", "/pools/gpu", nil).want(204)
	w.as(w.owner, "DELETE", "/pools/gpu", nil).want(404)
	if f := w.as(w.owner, "GET", "/factories/gpu-1", nil).want(200); f.text("pool") != "" {
		t.Errorf("afterwards the factory is %s", f.raw)
	}
	if n := dbfactory.Int(t, w.db, "SELECT count(*) FROM event WHERE type LIKE 'pool.%'"); n != 2 {
		t.Errorf("%d events tell of the pool, want one that it was made and one that it is gone", n)
	}
}

// Jobs that nobody may give out now keep no factory alive.
func TestWhatIsHeldIsNoDemand(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.as(w.owner, "PUT", "/pools/any", object{"offers": object{}, "max": 5}).want(201)
	queued := func() int64 { return w.as(w.owner, "GET", "/pools/any/demand", nil).want(200).number("queued") }
	w.job("one")
	w.job("two")
	if queued() != 2 {
		t.Errorf("%v are queued", queued())
	}
	w.as(w.owner, "POST", "/stop", object{"reason": "r", "hold": "claims"}).want(200)
	if queued() != 0 {
		t.Errorf("stopped: %v are queued", queued())
	}
	w.as(w.owner, "POST", "/stop/release", nil).want(200)
	w.as(w.owner, "PUT", "/products/default", object{"paused": true}).want(200)
	if queued() != 0 {
		t.Errorf("paused: %v are queued", queued())
	}
}

// A factory joins a pool only where its token reaches all that the pool is for.
func TestWhoMayJoinAPool(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.as(w.owner, "PUT", "/pools/gpu", object{"offers": object{"capabilities": []string{"has:gpu", "has:git"}}, "max": 1,
		"product_scope": []string{"default"}}).want(201)
	register := func(pool string) answer {
		return w.as(w.enrolment, "PUT", "/agents/ada", object{"boot_id": "b", "factory": object{"name": "gpu-1", "pool": pool}})
	}
	register("gup").want(422).refused(fault.Validation, "factory.pool")
	for scope, want := range map[string]int{
		"capabilities = '{has:git}'":                                             403,
		"capabilities = '{has:git,has:gpu}', products = '{billing}'":             403,
		"capabilities = '{has:git,has:gpu,has:tpu}', products = '{default}'":     200,
		"capabilities = '{}', products = '{default,billing}', factory = 'gpu-1'": 200,
		"capabilities = '{}', products = '{}', factory = NULL":                   200,
	} {
		scope = strings.Replace(scope, "factory = NULL", "factory = ''", 1)
		dbfactory.Exec(t, w.db, "UPDATE access_token SET products = '{}', capabilities = '{}', factory = '' WHERE kind = 'enrolment'")
		dbfactory.Exec(t, w.db, "UPDATE access_token SET "+scope+" WHERE kind = 'enrolment'")
		if got := register("gpu"); got.status != want {
			t.Errorf("%s: %d %s", scope, got.status, got.raw)
		}
	}
}

func TestPoolsAreBounded(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for field, body := range map[string]object{
		"max":                    {"offers": object{"seats": 100}, "max": 101},
		"min":                    {"offers": object{}, "max": 1, "min": 2},
		"min_idle":               {"offers": object{}, "max": 1, "min_idle": 2},
		"offers.capabilities[0]": {"offers": object{"capabilities": []string{"Not One"}}, "max": 1},
		"offers.engines[0]":      {"offers": object{"engines": []string{"a b"}}, "max": 1},
		"offers.repos[0]":        {"offers": object{"repos": []string{"../x"}}, "max": 1},
		"offers.seats":           {"offers": object{"seats": 0}, "max": 1},
		"product_scope[0]":       {"offers": object{}, "max": 1, "product_scope": []string{"nowhere"}},
		"cool_down_seconds":      {"offers": object{}, "max": 1, "cool_down_seconds": -1},
	} {
		w.as(w.owner, "PUT", "/pools/p", body).want(422).refused(fault.Validation, field)
	}
	w.as(w.owner, "PUT", "/pools/a%20b", object{"offers": object{}, "max": 1}).want(422).refused(fault.Validation, "name")
	good := object{"offers": object{}, "max": 1}
	ada := w.agent("ada")
	w.as(ada, "PUT", "/pools/p", good).want(403)
	w.as(ada, "GET", "/pools", nil).want(200)
	w.as(ada, "POST", "/pools/p/scaling", object{"factory": "f", "step": "starting"}).want(403)
	w.as(w.owner, "POST", "/pools/p/scaling", object{"factory": "f", "step": "starting"}).want(404)
	for _, path := range []string{"/pools/p", "/pools/p/demand", "/pools/p/history"} {
		w.as(w.owner, "GET", path, nil).want(404)
	}
	for i := range 100 {
		w.as(w.owner, "PUT", fmt.Sprint("/pools/p", i), good).want(201)
	}
	w.as(w.owner, "PUT", "/pools/p100", good).want(409).refused(fault.InUse)
	w.as(w.owner, "PUT", "/pools/p99", good).want(200)
	other := w.otherWorkspace()
	w.as(other, "GET", "/pools/p1", nil).want(404)
	if all := w.as(other, "GET", "/pools", nil).want(200); all.count("items") != 0 {
		t.Errorf("another workspace sees %s", all.raw)
	}
}
