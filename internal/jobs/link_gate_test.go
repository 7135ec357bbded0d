package jobs_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// gated makes a job another one's child with a gate.
func (b *bundle) gated(child, parent jobs.Job) jobs.Job {
	b.t.Helper()
	linked, err := b.LinkParent(b.t.Context(), b.who, child.Key, parent.Key, true)
	if err != nil {
		b.t.Fatalf("gate %s until %s ends: %v", parent.Key, child.Key, err)
	}
	return linked
}

func TestAGateBelongsToTheLinkOfTheChild(t *testing.T) {
	b := setup(t)
	j := b.createN(3)
	parent, child, other := j[0], j[1], j[2]
	b.link(parent, other, jobs.Blocks)
	b.link(child, parent, jobs.Parent)
	b.gated(child, parent)
	if linked := b.gated(child, parent); linked.Status != jobs.Ready || linked.Version != b.get(child).Version {
		t.Errorf("the child is %s in version %d", linked.Status, linked.Version)
	}
	now := b.get(parent)
	if now.Version != 3 || strings.Join(now.DependsOn, " ") != other.Key {
		t.Errorf("version %d, depends on %v; want 3 and %s", now.Version, now.DependsOn, other.Key)
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM event WHERE job_id = $1 AND type = 'job.linked'
		AND payload = jsonb_build_object('type', 'gate', 'job', $2::text)`, parent.ID, child.Key); n != 1 {
		t.Errorf("%d events tell it", n)
	}
	if _, err := b.Link(t.Context(), b.who, parent.Key, child.Key, jobs.Gate); !fault.Is(err, fault.Validation) {
		t.Errorf("a gate of its own: %v; want validation", err)
	}
}

// edges asserts how many links of a job's graph have a gate, and how many there are.
func (b *bundle) edges(j jobs.Job, wantGates, wantAll int) {
	b.t.Helper()
	g, err := b.Graph(b.t.Context(), b.who, j.Key)
	if err != nil {
		b.t.Fatal(err)
	}
	gates := 0
	for _, e := range g.Edges {
		if e.Gate && e.Type == jobs.Parent {
			gates++
		}
	}
	if gates != wantGates || len(g.Edges) != wantAll {
		b.t.Errorf("%d gates, %d edges; want %d of %d", gates, len(g.Edges), wantGates, wantAll)
	}
}

func TestAGateGoesWithItsLinkAlone(t *testing.T) {
	b := setup(t)
	j := b.createN(3)
	parent, child := j[0], j[1]
	b.link(parent, j[2], jobs.Blocks)
	b.gated(child, parent)
	b.link(child, parent, jobs.Parent) // says nothing about the gate
	b.edges(parent, 1, 2)
	// Links from the parent to the child, and an edit of what it depends on, leave it.
	b.link(parent, child, jobs.Duplicates)
	if _, err := b.Unlink(t.Context(), b.who, parent.Key, child.Key, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Patch(t.Context(), b.who, parent.Key, jobs.Patch{Version: b.get(parent).Version,
		Spec: jobs.Spec{DependsOn: []string{}}, Set: []string{"depends_on"}}); err != nil {
		t.Fatal(err)
	}
	b.is(parent, jobs.Waiting, jobs.WaitDependency)
	if _, err := b.LinkParent(t.Context(), b.who, child.Key, parent.Key, false); err != nil {
		t.Fatal(err)
	}
	b.is(parent, jobs.Ready, "")
	b.edges(parent, 0, 1)
	b.gated(child, parent)
	if _, err := b.Unlink(t.Context(), b.who, child.Key, parent.Key, jobs.Parent); err != nil {
		t.Fatal(err)
	}
	b.is(parent, jobs.Ready, "")
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM job_dependency WHERE type <> 'blocks'`); n != 0 {
		t.Errorf("%d links are left", n)
	}
}

// A gate counts as a wait of the parent for the child, in every circle.
func TestGatesFormNoCircle(t *testing.T) {
	b := setup(t)
	j := b.createN(4)
	circle := func(child, parent jobs.Job, want ...jobs.Job) {
		t.Helper()
		_, err := b.LinkParent(t.Context(), b.who, child.Key, parent.Key, true)
		path, _ := fault.From(err).Details["path"].([]string)
		keys := make([]string, 0, len(want))
		for _, j := range want {
			keys = append(keys, j.Key)
		}
		if !fault.Is(err, fault.DependencyCycle) || strings.Join(path, " ") != strings.Join(keys, " ") {
			t.Errorf("%s as a child of %s: %v, path %v; want %v", child.Key, parent.Key, err, path, keys)
		}
	}
	b.gated(j[1], j[0])
	b.link(j[1], j[2], jobs.Blocks)
	b.circle(j[1], j[0], jobs.Blocks, j[1], j[0], j[1])
	b.circle(j[2], j[0], jobs.Blocks, j[2], j[0], j[1], j[2])
	circle(j[0], j[2], j[0], j[1], j[2], j[0])
	b.link(j[3], j[0], jobs.Blocks)
	circle(j[3], j[0], j[3], j[0], j[3])
	b.link(j[3], j[0], jobs.Parent) // without a gate nothing waits
	_, err := b.Patch(t.Context(), b.who, j[2].Key, jobs.Patch{Version: 1, Spec: jobs.Spec{DependsOn: []string{j[0].Key}},
		Set: []string{"depends_on"}})
	if !fault.Is(err, fault.DependencyCycle) {
		t.Errorf("an edit that closes the circle: %v", err)
	}
	epic := b.create(jobs.New{Spec: jobs.Spec{Title: "epic", WaitsForChildren: true}})[0]
	b.gated(epic, j[2])
	circle(j[3], epic, j[3], j[0], j[1], j[2], epic, j[3])
	b.gated(b.createN(1)[0], epic) // which waits for it with its begin and with its end
	if _, err := b.LinkParent(t.Context(), b.who, "NOPE", epic.Key, true); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown child: %v", err)
	}
	if _, err := b.LinkParent(t.Context(), b.who, epic.Key, epic.Key, true); !fault.Is(err, fault.Validation) {
		t.Errorf("its own child: %v", err)
	}
}
