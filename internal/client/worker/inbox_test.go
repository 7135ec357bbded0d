package worker

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

var (
	system = api.MessageAddress{Kind: api.MessageAddressKindSystem, Name: "fleetboard"}
	bob    = api.MessageAddress{Kind: api.MessageAddressKindAgent, Name: "bob"}
	myself = api.MessageAddress{Kind: api.MessageAddressKindAgent, Name: "ada"}
	role   = api.MessageAddress{Kind: api.MessageAddressKindRole, Name: "worker"}
)

// talk returns the inbox of ada, which works on FB-1 and FB-5. The attempt on FB-1 filed FB-2,
// that on FB-7, which has ended, filed FB-8.
func talk() *inbox {
	b := newInbox("ada")
	for _, job := range []string{"FB-1", "FB-5", "FB-7"} {
		b.begin(job)
	}
	b.files("FB-1", "FB-2")
	b.files("FB-7", "FB-8")
	b.end("FB-7")
	return b
}

func TestMessagesReachTheAttemptsThatTheyAreFor(t *testing.T) {
	for name, c := range map[string]struct {
		from        api.MessageAddress
		job, thread string
		want        string
	}{
		"to the job":                          {bob, "FB-5", "FB-5", "FB-5"},
		"in the job's thread":                 {bob, "FB-9", "FB-5", "FB-5"},
		"of a job that was filed":             {bob, "FB-2", "FB-2", "FB-1"},
		"the server, of a filed job":          {system, "FB-2", "FB-2", "FB-1"},
		"the server, of the job":              {system, "FB-5", "FB-5", "FB-5"},
		"the server, of nobody's job":         {system, "FB-9", "FB-9", nobody},
		"the server, of an ended one's job":   {system, "FB-8", "FB-8", nobody},
		"about a job that was here":           {bob, "FB-7", "FB-7", nobody},
		"about a job of elsewhere":            {bob, "FB-9", "FB-9", anybody},
		"about nothing":                       {bob, "", "release", anybody},
		"its own, from one attempt":           {myself, "FB-1", "FB-5", "FB-5"},
		"its own, to whoever filed":           {myself, "FB-2", "FB-2", "FB-1"},
		"its own, about itself":               {myself, "FB-5", "FB-5", nobody},
		"the server, of the fleet and no job": {system, "", "x", anybody},
	} {
		b := talk()
		if got := b.owner(api.Message{From: c.from, Job: c.job, CorrelationID: c.thread}); got != c.want {
			t.Errorf("%s: it is for %q; want %q", name, got, c.want)
		}
	}
}

func TestWhatNobodyReadsWaitsOrGoesBack(t *testing.T) {
	b := talk()
	about := func(seq int64, to api.MessageAddress, job string) api.Message {
		return api.Message{Seq: seq, From: bob, To: to, Job: job, CorrelationID: job}
	}
	list := []api.Message{about(1, myself, "FB-7"), about(2, role, "FB-7"), about(3, role, ""), about(4, myself, "FB-1"), about(5, myself, "")}
	if back := b.put(list, 5, 0); len(back) != 1 || back[0].Seq != 2 {
		t.Errorf("given back at once: %v", back)
	}
	b.put(list[3:4], 4, 0) // the same again
	if b.place() != 5 || b.count("FB-1") != 3 || b.count("FB-5") != 2 {
		t.Errorf("at %d, %d and %d wait", b.place(), b.count("FB-1"), b.count("FB-5"))
	}
	if late := b.overdue(sharedFor - time.Second); len(late) != 0 {
		t.Errorf("too early: %v", late)
	}
	if late := b.overdue(sharedFor); len(late) != 1 || late[0].Seq != 3 {
		t.Errorf("overdue: %v", late)
	}
	got, _ := b.take("FB-1")
	if len(got) != 2 || got[0].Seq != 4 || got[1].Seq != 5 || b.count("FB-5") != 0 {
		t.Errorf("FB-1 got %v", got)
	}
	b.begin("FB-7")
	if got, _ := b.take("FB-7"); len(got) != 1 || got[0].Seq != 1 {
		t.Errorf("FB-7 got %v", got)
	}
}

// What a review came to is acknowledged where the factory got it: no engine is given
// it, and it does not go round until it is a dead letter. An agent gets it for what it filed.
func TestResultsOfReviewsAreAcknowledged(t *testing.T) {
	b := talk()
	factory := api.MessageAddress{Kind: api.MessageAddressKindFactory, Name: "desk"}
	result := func(seq int64, to api.MessageAddress, job string) api.Message {
		return api.Message{Seq: seq, Type: reviewResult, From: system, To: to, Job: job, CorrelationID: job}
	}
	back := b.put([]api.Message{result(1, factory, "FB-9"), result(2, factory, "FB-5"), result(3, myself, "FB-2")}, 3, 0)
	if len(back) != 0 {
		t.Errorf("%d go back", len(back))
	}
	if got := b.toTell(10); len(got) != 2 || got[0] != 1 || got[1] != 2 {
		t.Errorf("%v are acknowledged; want 1 and 2", got)
	}
	if five, _ := b.take("FB-5"); len(five) != 0 {
		t.Errorf("the attempt on FB-5 is given %d", len(five))
	}
	if one, _ := b.take("FB-1"); len(one) != 1 {
		t.Errorf("the attempt on FB-1, which filed FB-2, is given %d; want 1", len(one))
	}
}
