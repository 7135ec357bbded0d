package api_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestJobsAreLinkedAndUnlinked(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	a, b := w.job("a"), w.job("b")

	linked := w.as(w.owner, "POST", "/jobs/"+a+"/dependencies", object{"depends_on": b}).want(200)
	if linked.text("status") != "waiting" || linked.text("wait_reason") != "dependency" || linked.text("depends_on", 0) != b {
		t.Errorf("linked: %s", linked.raw)
	}
	w.as(w.owner, "DELETE", "/jobs/"+a+"/dependencies/"+b+"?type=parent", nil).want(404).refused(fault.NotFound)
	free := w.as(w.owner, "DELETE", "/jobs/"+a+"/dependencies/"+b, nil).want(200)
	if free.text("status") != "ready" || free.count("depends_on") != 0 {
		t.Errorf("unlinked: %s", free.raw)
	}
	events := w.as(w.owner, "GET", "/jobs/"+a+"/events", nil).want(200)
	if events.text("items", 0, "type") != "job.unlinked" || events.text("items", 1, "type") != "job.linked" ||
		events.text("items", 1, "payload", "type") != "blocks" || events.text("items", 1, "payload", "job") != b {
		t.Errorf("events: %s", events.raw)
	}
}

func TestLinksFormNoCircle(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	a, b, c := w.job("a"), w.job("b"), w.job("c")
	w.as(w.owner, "POST", "/jobs/"+a+"/dependencies", object{"depends_on": b}).want(200)
	w.as(w.owner, "POST", "/jobs/"+b+"/dependencies", object{"depends_on": c, "type": "blocks"}).want(200)
	w.as(w.owner, "POST", "/jobs/"+c+"/dependencies", object{"depends_on": a, "type": "discovered_from"}).want(200)

	cycle := w.as(w.owner, "POST", "/jobs/"+c+"/dependencies", object{"depends_on": a}).want(409).refused(fault.DependencyCycle)
	if cycle.count("path") != 4 || cycle.text("path", 0) != c || cycle.text("path", 1) != a || cycle.text("path", 3) != c {
		t.Errorf("path: %s", cycle.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+a+"/dependencies", object{"depends_on": a}).want(422).refused(fault.Validation, "depends_on")
	w.as(w.owner, "POST", "/jobs/"+a+"/dependencies", object{"depends_on": b, "type": "likes"}).want(422).refused(fault.Validation)
	w.as(w.owner, "POST", "/jobs/"+a+"/dependencies", object{"depends_on": "NOPE"}).want(404).refused(fault.NotFound)

	graph := w.as(w.owner, "GET", "/jobs/"+b+"/dependencies", nil).want(200)
	if graph.count("jobs") != 3 || graph.count("links") != 3 || graph.text("jobs", 0, "job") != b || graph.at("more") != false {
		t.Errorf("graph: %s", graph.raw)
	}
	if graph.text("links", 0, "job") != a || graph.text("links", 0, "depends_on") != b || graph.text("links", 0, "type") != "blocks" {
		t.Errorf("first link: %s", graph.raw)
	}
}

// A parent with a gate is not claimed while its child is open, and says so.
func TestAParentWaitsForItsChildBehindAGate(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	parent := w.job("Parent", object{"priority": 9})
	child := w.job("Child")
	path := "/jobs/" + child + "/dependencies"
	gate := object{"depends_on": parent, "type": "parent", "gate": true}
	if linked := w.as(w.owner, "POST", path, gate).want(200); linked.text("key") != child || linked.text("status") != "ready" {
		t.Errorf("linked: %s", linked.raw)
	}
	w.as(w.owner, "POST", path, merge(gate, object{"type": "blocks"})).want(422).refused(fault.Validation, "gate")
	w.as(w.owner, "POST", "/jobs/"+parent+"/dependencies", object{"depends_on": child, "type": "parent", "gate": true}).
		want(409).refused(fault.DependencyCycle)
	why := w.as(w.owner, "GET", "/jobs/"+parent+"/explanation", nil).want(200)
	if why.text("reasons", 0, "code") != "dependency" || why.text("reasons", 0, "jobs", 0) != child {
		t.Errorf("explanation: %s", why.raw)
	}
	graph := w.as(w.owner, "GET", path, nil).want(200)
	if graph.count("links") != 1 || graph.text("links", 0, "type") != "parent" || graph.at("links", 0, "gate") != true {
		t.Errorf("graph: %s", graph.raw)
	}
	ref := w.claim(ada)
	if ref["job"] != child {
		t.Errorf("claimed %v; want the child", ref["job"])
	}
	w.as(ada, "POST", "/fleet/claim", object{"job": parent}).want(409).refused(fault.NotClaimable)
	w.as(ada, "POST", "/fleet/complete", ref).want(200)
	if ref = w.claim(ada); ref["job"] != parent {
		t.Errorf("claimed %v; want the parent", ref["job"])
	}
}

func TestCriteriaAreTicked(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	key := w.job("a", object{"acceptance": []string{"it builds", "it is tested"}})
	ticked := w.as(w.owner, "PATCH", "/jobs/"+key, object{"version": 1, "acceptance_met": []bool{false, true}}).want(200)
	if ticked.at("acceptance_met", 0) != false || ticked.at("acceptance_met", 1) != true {
		t.Errorf("ticks: %s", ticked.raw)
	}
	read := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if read.count("acceptance_met") != 2 || read.at("acceptance_met", 1) != true || read.number("version") != 2 {
		t.Errorf("read again: %s", read.raw)
	}
}
