package bus_test

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// limited returns an agent whose token reaches only these products.
func (p *post) limited(name string, products ...string) tenancy.Principal {
	p.T.Helper()
	who := p.as(name, "worker", "reviewer")
	dbfactory.Exec(p.T, p.DB, `UPDATE agent SET products = $1 WHERE name = $2`, products, name)
	who.Scope.Products = products
	return who
}

// estate is two products with a job and an agent of each, and what was said about them.
type estate struct {
	*post

	atlas, vega jobs.Job
	ann, val    tenancy.Principal // of atlas, of vega
	all         tenancy.Principal
	aboutVega   bus.Message // to all reviewers, about the job of vega
	private     bus.Message // between all and val, about nothing
}

func newEstate(t *testing.T) *estate {
	t.Helper()
	e := &estate{post: newPost(t)}
	e.Product("atlas", jobs.ProductSettings{})
	e.Product("vega", jobs.ProductSettings{})
	e.atlas, e.vega = e.Job("of atlas", dispatchtest.InProduct("atlas")), e.Job("of vega", dispatchtest.InProduct("vega"))
	e.ann, e.val, e.all = e.limited("ann", "atlas"), e.limited("val", "vega"), e.as("all", "worker", "reviewer", "orchestrator")
	about := note(role("reviewer"), "about vega")
	about.Job, about.CorrelationID = e.vega.ID.String(), "talk of vega"
	e.aboutVega = e.send(e.all, about)[0].Message
	e.private = e.send(e.val, note(agent("all"), "private"))[0].Message
	return e
}

// elsewhere is another workspace of the same database.
func (e *estate) elsewhere() *post {
	e.T.Helper()
	w := dispatchtest.In(e.T, e.DB, dbfactory.Workspace(e.T, e.DB))
	b := bus.NewService(w.DB, w.Wake, w.Jobs.Secrets, nil, nil)
	e.T.Cleanup(b.Close)
	return &post{w, b}
}

// references returns what a message to whoever reads all refers to.
func (e *estate) references() map[string]func(*bus.Draft) {
	return map[string]func(*bus.Draft){
		"nothing":                 func(*bus.Draft) {},
		"agent of atlas":          func(d *bus.Draft) { d.To = agent("ann") },
		"agent of vega":           func(d *bus.Draft) { d.To = agent("val") },
		"job of atlas":            func(d *bus.Draft) { d.Job = e.atlas.Key },
		"job of vega":             func(d *bus.Draft) { d.Job = e.vega.Key },
		"id of a job of vega":     func(d *bus.Draft) { d.Job = e.vega.ID.String() },
		"thread of atlas":         func(d *bus.Draft) { d.CorrelationID = e.atlas.Key },
		"thread of vega":          func(d *bus.Draft) { d.CorrelationID = e.vega.Key },
		"thread by vega's id":     func(d *bus.Draft) { d.CorrelationID = e.vega.ID.String() },
		"talk of vega":            func(d *bus.Draft) { d.CorrelationID = "talk of vega" },
		"thread of its own":       func(d *bus.Draft) { d.CorrelationID = "build 7" },
		"answer about vega":       func(d *bus.Draft) { d.InReplyTo = e.aboutVega.ID },
		"answer to a private one": func(d *bus.Draft) { d.InReplyTo = e.private.ID },
		"answer to nothing":       func(d *bus.Draft) { d.InReplyTo = ids.New() },
		"job of atlas, thread of vega": func(d *bus.Draft) {
			d.Job, d.CorrelationID = e.atlas.Key, e.vega.Key
		},
		"job of atlas, answer about vega": func(d *bus.Draft) {
			d.Job, d.InReplyTo = e.atlas.Key, e.aboutVega.ID
		},
		"thread of atlas, answer about vega": func(d *bus.Draft) {
			d.CorrelationID, d.InReplyTo = e.atlas.Key, e.aboutVega.ID
		},
	}
}

// What an agent with a limited token says is within its products by each reference, alone and
// in a list, which is refused as a whole.
func TestEachReferenceIsInScope(t *testing.T) {
	e := newEstate(t)
	stranger := e.elsewhere()
	abroad := stranger.as("abroad", "worker", "orchestrator")
	ended := e.as("ended", "worker")
	dbfactory.Exec(t, e.DB, `UPDATE agent SET terminated_at = now() WHERE name = 'ended'`)
	narrow := e.as("narrow", "worker", "reviewer")
	narrow.Scope.Capabilities = []string{"repo:ledger-api"}
	const ok = fault.Code("")
	inVega := []string{"agent of vega", "job of vega", "id of a job of vega", "thread of vega", "thread by vega's id", "talk of vega",
		"answer about vega", "answer to a private one", "job of atlas, thread of vega", "job of atlas, answer about vega", "thread of atlas, answer about vega"}
	inAtlas := []string{"agent of atlas", "job of atlas", "thread of atlas", "job of atlas, thread of vega",
		"job of atlas, answer about vega", "thread of atlas, answer about vega"}
	for name, c := range map[string]struct {
		bus  *post
		who  tenancy.Principal
		want func(reference string) fault.Code
	}{
		"limited to atlas": {e.post, e.ann, func(ref string) fault.Code {
			switch {
			case slices.Contains(inVega, ref):
				return fault.Forbidden
			case ref == "answer to nothing":
				return fault.Validation
			}
			return ok
		}},
		"limited to vega": {e.post, e.val, func(ref string) fault.Code {
			switch {
			case slices.Contains(inAtlas, ref):
				return fault.Forbidden
			case ref == "answer to nothing":
				return fault.Validation
			}
			return ok
		}},
		"limited to a repo": {e.post, narrow, func(ref string) fault.Code {
			if ref == "answer to nothing" || ref == "answer to a private one" {
				return fault.Validation
			}
			return ok
		}},
		"without limits": {e.post, e.all, func(ref string) fault.Code {
			if ref == "answer to nothing" {
				return fault.Validation
			}
			return ok
		}},
		"a person": {e.post, e.Owner, func(ref string) fault.Code {
			if ref == "answer to nothing" {
				return fault.Validation
			}
			return ok
		}},
		"ended": {e.post, ended, func(string) fault.Code { return fault.Superseded }},
		"another workspace": {stranger, abroad, func(ref string) fault.Code {
			switch ref {
			case "nothing", "thread of its own", "thread of atlas", "thread of vega", "thread by vega's id", "talk of vega":
				return ok // names that mean nothing there
			}
			return fault.Validation
		}},
	} {
		for ref, change := range e.references() {
			to := agent("all")
			if c.bus != e.post {
				to = agent("abroad")
			}
			d := note(to, "hello")
			change(&d)
			before := dbfactory.Int(t, c.bus.DB, `SELECT count(*) FROM message`)
			_, err := c.bus.bus.Publish(c.bus.Ctx, c.who, d)
			_, listed := c.bus.bus.Publish(c.bus.Ctx, c.who, note(to, "good"), d)
			sent := dbfactory.Int(t, c.bus.DB, `SELECT count(*) FROM message`) - before
			want, most := c.want(ref), 0
			if want == ok {
				most = 3
			}
			for _, got := range []error{err, listed} {
				if want == ok && got != nil || want != ok && !fault.Is(got, want) {
					t.Errorf("%s, %s: %v; want %q", name, ref, got, want)
				}
			}
			if sent != most {
				t.Errorf("%s, %s: %d messages were sent; want %d", name, ref, sent, most)
			}
		}
	}
}

// A job's thread is its product's, whatever was said there first.
func TestAJobsThreadIsItsProducts(t *testing.T) {
	e := newEstate(t)
	strange := note(agent("all"), "about atlas")
	strange.Job, strange.CorrelationID = e.atlas.Key, e.vega.Key
	e.send(e.Owner, strange)
	said := note(agent("all"), "about vega")
	said.CorrelationID = e.vega.Key
	e.send(e.val, said)
	if _, err := e.bus.Publish(e.Ctx, e.ann, said); !fault.Is(err, fault.Forbidden) {
		t.Errorf("an agent of atlas in the thread of vega: %v", err)
	}
}

// What is said in the thread of a product stays in it, also without a job, by whoever says it:
// others find it in no inbox, no thread, no search, by no id, and acknowledge none of it.
func TestAThreadStaysInItsProduct(t *testing.T) {
	e := newEstate(t)
	said := map[string]bus.Sent{}
	for name, d := range map[string]bus.Draft{
		"in the job's thread": {CorrelationID: e.vega.Key},
		"in a talk":           {CorrelationID: "talk of vega"},
		"an answer":           {InReplyTo: e.aboutVega.ID},
		"about the job":       {Job: e.vega.Key},
	} {
		for what, to := range map[string]bus.Address{"role": role("reviewer"), "all": {Kind: bus.ToAll}} {
			d := d
			d.Type, d.To, d.Payload = "custom.note", to, []byte(`{"text":"hush `+name+`"}`)
			said[name+" to "+what] = e.send(e.all, d)[0]
		}
	}
	// An agent of vega alone, to a role: agents of other products do not get it.
	said["by vega, about nothing"] = e.send(e.val, note(role("worker"), "hush alone"))[0]
	e.empty(e.ann)
	var seqs []int64
	for name, m := range said {
		seqs = append(seqs, m.Seq)
		if _, err := e.bus.Get(e.Ctx, e.ann, m.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s is read by its id: %v", name, err)
		}
		list, err := e.bus.Thread(e.Ctx, e.ann, m.CorrelationID, 0, 100)
		if err != nil || len(list) > 0 {
			t.Errorf("%s is read in its thread: %v, %v", name, texts(list), err)
		}
	}
	found, err := e.bus.Search(e.Ctx, e.ann, "hush", bus.Filter{}, 100)
	if err != nil || len(found) > 0 {
		t.Errorf("%d are found, %v", len(found), err)
	}
	for _, who := range []tenancy.Principal{e.ann, e.Owner} {
		if n, err := e.bus.Ack(e.Ctx, who, seqs); err != nil || n != 0 {
			t.Errorf("%s acknowledged %d of others, %v", who.Name, n, err)
		}
	}
	got := map[string]int{}
	for len(got) < 5 {
		for _, m := range e.read(e.val, bus.Query{}).Messages {
			got[texts([]bus.Message{m})[0]]++
		}
	}
}

// The result of a review reaches the factory that handed the work in, also where its agent has
// registered anew, or under another name; and still whoever submitted the job.
func TestTheResultOfAReviewReachesTheFactory(t *testing.T) {
	p := newPost(t)
	inFactory := func(r *fleetRegistration) { r.Factory.Name = "north" }
	ada := p.Agent("ada", inFactory)
	job := p.Job("work", dispatchtest.Reviewed)
	p.Complete(ada, p.Claim(ada))
	again := p.Agent("ada", inFactory, func(r *fleetRegistration) { r.BootID = "boot-2" })
	p.act(job, jobs.ByReject, "more tests")
	p.thread(p.bus, job, 2)
	got := p.read(again, bus.Query{Types: []string{bus.ReviewResult}}).Messages
	if len(got) != 1 || got[0].JobKey != job.Key || got[0].To.Kind != bus.ToFactory {
		t.Fatalf("the agent that registered anew got %+v", got)
	}
	p.Complete(again, p.Claim(again))
	bob := p.Agent("bob", inFactory)
	p.act(job, jobs.ByApprove, "")
	p.thread(p.bus, job, 4)
	if got = p.read(bob, bus.Query{Types: []string{bus.ReviewResult}}).Messages; len(got) != 1 {
		t.Errorf("another agent of the factory got %+v", got)
	}
	far := p.Agent("far")
	p.empty(far)
}
