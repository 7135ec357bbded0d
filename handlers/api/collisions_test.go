package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// touching has agents, each with a job of the repo atlas that it works on.
func touching(t *testing.T, names ...string) (w *apiServer, tokens []string, refs []object) {
	t.Helper()
	w = newAPIServer(t)
	for _, name := range names {
		agent := w.agent(name, object{"factory": object{"name": name + "-host", "os": "linux", "repos": []object{{"name": "atlas"}}, "seats": 9}})
		w.job("Work of "+name, object{"repo": "atlas"})
		ref := w.claim(agent)
		w.as(agent, "POST", "/fleet/start", ref).want(200)
		tokens, refs = append(tokens, agent), append(refs, ref)
	}
	return w, tokens, refs
}

func (w *apiServer) beatsWith(token, agent string, leases ...object) answer {
	return w.as(token, "POST", "/agents/"+agent+"/heartbeat", object{"boot_id": agent + "-boot", "status": "working", "leases": leases})
}

func (w *apiServer) collisions(ref object) answer {
	return w.as(w.owner, "GET", fmt.Sprint("/jobs/", ref["job"], "/collisions"), nil).want(200)
}

// Two jobs of one repo that touch one path are told of one another from then on until one of them
// ends, whichever call says so.
func TestJobsThatTouchOneFileAreTold(t *testing.T) {
	t.Parallel()
	w, agents, refs := touching(t, "ada", "eve", "sue")
	files := func(i int, list ...string) object { return merge(refs[i], object{"files_touched": list}) }
	w.as(agents[0], "POST", "/fleet/progress", files(0, "go.mod", "internal/db/tx.go", "docs/")).want(200)
	if a := w.collisions(refs[0]); a.count("items") != 0 || fmt.Sprint(a.at("files_touched")) != "3" || a.at("more_files") != false {
		t.Errorf("alone it is %s", a.raw)
	}
	w.beatsWith(agents[1], "eve", files(1, "internal/db/tx.go", "README.md")).want(200)
	a := w.as(agents[2], "POST", "/fleet/batch", object{"items": []object{merge(files(2, "docs", "README.md"), object{"verb": "progress"})}}).want(200)
	if fmt.Sprint(a.at("items", 0, "status")) != "200" {
		t.Errorf("the batch answers %s", a.raw)
	}
	for i, want := range []string{"eve internal/db/tx.go;sue docs", "ada internal/db/tx.go;sue README.md", "ada docs;eve README.md"} {
		a, got := w.collisions(refs[i]), []string{}
		for n := range a.count("items") {
			got = append(got, a.text("items", n, "agent")+" "+a.text("items", n, "paths", 0))
			if a.text("items", n, "since") == "" || a.text("items", n, "job") == "" || a.text("items", n, "factory") == "" {
				t.Errorf("it says %s", a.raw)
			}
		}
		if slices.Sort(got); strings.Join(got, ";") != want {
			t.Errorf("job %d collides with %v; want %s", i, got, want)
		}
	}
	events := func(i int) (kinds []string) {
		a := w.as(w.owner, "GET", fmt.Sprint("/jobs/", refs[i]["job"], "/events"), nil).want(200)
		for n := range a.count("items") {
			if kind := a.text("items", n, "type"); strings.HasPrefix(kind, "job.colli") {
				kinds = append(kinds, kind+" "+a.text("items", n, "payload", "job"))
			}
		}
		return kinds
	}
	keys := []string{fmt.Sprint(refs[0]["job"]), fmt.Sprint(refs[1]["job"]), fmt.Sprint(refs[2]["job"])}
	if got, want := events(0), []string{"job.collided " + keys[2], "job.collided " + keys[1]}; !slices.Equal(got, want) {
		t.Errorf("the events are %v; want %v", got, want)
	}
	// Said again it is no news; more of the same two is no event, but a path.
	w.beatsWith(agents[1], "eve", files(1, "internal/db/tx.go", "go.mod")).want(200)
	if a := w.collisions(refs[0]); a.at("items", 0, "paths", 1) != "go.mod" || len(events(0)) != 2 {
		t.Errorf("more of the same is %s, %v", a.raw, events(0))
	}
	w.as(w.owner, "GET", "/jobs/NO-1/collisions", nil).want(404)
	w.as("", "GET", "/jobs/"+keys[0]+"/collisions", nil).want(401)
}

// The end of a lease ends its collisions, and the next one begins with nothing.
func TestCollisionsEndWithTheLease(t *testing.T) {
	t.Parallel()
	w, agents, refs := touching(t, "ada", "eve", "sue")
	files := func(i int, list ...string) object { return merge(refs[i], object{"files_touched": list}) }
	for i, list := range [][]string{{"go.mod", "docs/"}, {"go.mod", "README.md"}, {"docs", "README.md"}} {
		w.as(agents[i], "POST", "/fleet/progress", files(i, list...)).want(200)
	}
	w.as(agents[0], "POST", "/fleet/release", merge(refs[0], object{"reason": "later"})).want(200)
	last := w.as(w.owner, "GET", fmt.Sprint("/jobs/", refs[1]["job"], "/events"), nil).want(200)
	if last.text("items", 0, "type") != "job.collision_ended" || last.text("items", 0, "payload", "job") != fmt.Sprint(refs[0]["job"]) {
		t.Errorf("the events are %s", last.raw)
	}
	if a := w.collisions(refs[1]); a.count("items") != 1 || a.text("items", 0, "agent") != "sue" {
		t.Errorf("after the end of the other it is %s", a.raw)
	}
	if n := dbfactory.Int(t, w.db, "SELECT count(*) FROM touched_path t WHERE NOT EXISTS (SELECT FROM job_lease l WHERE l.job_id = t.job_id)"); n != 0 {
		t.Errorf("%d paths are left of leases that ended", n)
	}
	again := w.claim(agents[0])
	if a := w.collisions(again); a.count("items") != 0 || fmt.Sprint(a.at("files_touched")) != "0" {
		t.Errorf("the next attempt begins with %s", a.raw)
	}
	// What the lease before says comes too late.
	w.as(agents[0], "POST", "/fleet/progress", files(0, "go.mod")).want(409)
	if a := w.collisions(again); fmt.Sprint(a.at("files_touched")) != "0" {
		t.Errorf("an old lease touches %s", a.raw)
	}
}

// A path is a clean one inside the repository, and there are so many of them.
func TestTouchedFilesAreChecked(t *testing.T) {
	t.Parallel()
	w, agents, refs := touching(t, "ada")
	for _, path := range []string{"", " ", "/etc/passwd", "../x", "a/../b", "a//b", ".git/config", "a/.GIT/b", "a\x00b", "a\nb", "./a", "\u202e/x\x1b",
		strings.Repeat("x", 513), strings.Repeat("\U0001F600", 300)} {
		list := object{"files_touched": []string{"good.go", path}}
		w.as(agents[0], "POST", "/fleet/progress", merge(refs[0], list)).want(422).refused(fault.Validation, "files_touched[1]")
		w.beatsWith(agents[0], "ada", merge(refs[0], list)).want(422).refused(fault.Validation, "leases[0].files_touched[1]")
	}
	many := make([]string, 2001)
	for i := range many {
		many[i] = fmt.Sprint("f/", i)
	}
	w.as(agents[0], "POST", "/fleet/progress", merge(refs[0], object{"files_touched": many})).want(422).refused(fault.Validation, "files_touched")
	w.as(agents[0], "POST", "/fleet/progress", merge(refs[0], object{"files_touched": "x"})).want(400)
	if a := w.collisions(refs[0]); fmt.Sprint(a.at("files_touched")) != "0" {
		t.Errorf("what was refused is kept: %s", a.raw)
	}
	// What is beyond the most is said.
	for round := range 3 {
		list := make([]string, 2000)
		for i := range list {
			list[i] = fmt.Sprintf("f/%d/%d", round, i)
		}
		a := w.as(agents[0], "POST", "/fleet/progress", merge(refs[0], object{"files_touched": list})).want(200)
		if dropped := a.at("files_dropped"); round == 2 && fmt.Sprint(dropped) != "1000" || round < 2 && dropped != nil {
			t.Errorf("round %d drops %v", round, dropped)
		}
	}
	if a := w.collisions(refs[0]); fmt.Sprint(a.at("files_touched")) != "5000" || a.at("more_files") != true {
		t.Errorf("it says %s", a.raw)
	}
	a := w.beatsWith(agents[0], "ada", merge(refs[0], object{"files_touched": []string{"one", "f/0/0"}})).want(200)
	if fmt.Sprint(a.at("leases", 0, "files_dropped")) != "1" {
		t.Errorf("the heartbeat says %s", a.raw)
	}
}

// An agent of one product learns nothing of jobs of another one that touch the same file: neither by
// the call nor by an event.
func TestCollisionsAreOfTheScopeOfAToken(t *testing.T) {
	t.Parallel()
	w, agents, refs := touching(t, "ada", "eve")
	w.as(w.owner, "PUT", "/products/secret", object{}).want(201)
	dbfactory.Exec(t, w.db, "UPDATE job SET product_id = (SELECT id FROM product WHERE name = 'secret') WHERE key = $1", refs[1]["job"])
	for i := range agents {
		w.as(agents[i], "POST", "/fleet/progress", merge(refs[i], object{"files_touched": []string{"go.mod"}})).want(200)
	}
	if a := w.collisions(refs[0]); a.count("items") != 1 || a.text("items", 0, "job") != refs[1]["job"] {
		t.Errorf("a person reads %s", a.raw)
	}
	dbfactory.Exec(t, w.db, "UPDATE access_token SET products = '{default}' WHERE kind = 'enrolment'")
	scoped := w.agent("nib")
	a := w.as(scoped, "GET", fmt.Sprint("/jobs/", refs[0]["job"], "/collisions"), nil).want(200)
	if a.count("items") != 0 {
		t.Errorf("an agent of another product reads %s", a.raw)
	}
	w.as(agents[1], "POST", "/fleet/release", merge(refs[1], object{"reason": "later"})).want(200)
	if a := w.as(scoped, "GET", fmt.Sprint("/jobs/", refs[0]["job"], "/events"), nil).want(200); strings.Contains(string(a.raw), fmt.Sprint(refs[1]["job"])) ||
		!strings.Contains(string(a.raw), "job.collided") || !strings.Contains(string(a.raw), "job.collision_ended") {
		t.Errorf("the events say %s", a.raw)
	}
}
