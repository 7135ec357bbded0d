package api_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// What a factory does not offer is shown as it said it, in whatever form; what is not as it must
// be is refused.
func TestAFactorySaysWhatItDoesNotOffer(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada", object{"factory": hostOf("ada")})
	f := w.as(w.owner, "GET", "/factories/ada-host", nil).want(200)
	if f.at("state") != "live" || f.at("unavailable", 0, "name") != "claude" || f.at("unavailable", 0, "since") != "2026-01-02T03:04:05Z" ||
		f.at("rescued", 0, "path") != "/p" {
		t.Errorf("it is %s", f.raw)
	}
	job := w.job("one", object{"capabilities": []string{"engine:claude"}})
	said := w.as(w.owner, "GET", "/jobs/"+job+"/explanation", nil).want(200)
	if said.at("ineligible_factories", 0, "unavailable", 0, "reason") != "r" {
		t.Errorf("the explanation is %s", said.raw)
	}
	beat := func(change object) answer {
		return w.as(ada, "POST", "/agents/ada/heartbeat", object{"boot_id": "ada-boot", "status": "idle", "factory": merge(hostOf("ada"), change)})
	}
	entry := object{"kind": "engine", "name": "claude", "reason": "r", "since": "2026-01-02T03:04:05Z"}
	for field, wrong := range map[string]object{
		"kind": {"kind": "host"}, "reason": {"reason": "a\nb"}, "since": {"since": "yesterday"}, "name": {"name": ""},
	} {
		beat(object{"unavailable": []object{merge(entry, wrong)}}).refused(fault.Validation, "factory.unavailable[0]."+field)
	}
	many := make([]object, 101)
	for i := range many {
		many[i] = entry
	}
	beat(object{"unavailable": many}).refused(fault.Validation, "factory.unavailable")
	beat(object{"unavailable": []object{}, "rescued": []object{}}).want(200)
	if f = w.as(w.owner, "GET", "/factories/ada-host", nil).want(200); len(f.body["unavailable"].([]any))+len(f.body["rescued"].([]any)) != 0 {
		t.Errorf("it is %s", f.raw)
	}
}

// A second host learns who has the factory, and since when; one that ends leaves it at once.
func TestAFactoryElsewhere(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	at := func(host string) object { return object{"factory": object{"name": "build", "host": host}} }
	ada := w.agent("ada", at("alpha"))
	register := func() answer {
		return w.as(w.enrolment, "PUT", "/agents/bob", merge(object{"boot_id": "b"}, at("beta")))
	}
	no := register().want(409)
	no.refused(fault.FactoryElsewhere)
	if no.at("held_by", "host") != "alpha" || no.at("held_by", "agent") != "ada" || no.at("held_by", "since") == nil || no.at("held_by", "stale_at") == nil {
		t.Errorf("it says %s", no.raw)
	}
	w.as(ada, "POST", "/agents/ada/end", nil).want(204)
	if f := w.as(w.owner, "GET", "/factories/build", nil).want(200); f.at("state") != "ended" || f.at("live") != false || f.at("health") != "ended" ||
		f.at("agents", 0, "health") != "ended" || f.at("agents", 0, "terminated") != false {
		t.Errorf("it is %s", f.raw)
	}
	register().want(200)
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM factory WHERE ended_at IS NULL`); n != 1 {
		t.Errorf("%d factories live", n)
	}
}
