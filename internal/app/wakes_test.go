package app_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/transport"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// server is a process with what waits for others.
type server struct {
	*dispatchtest.Fixture

	messages *bus.Service
	screens  *screens.Service
}

// twoServers are two processes on one database over a transport.
func twoServers(t *testing.T, name string) (one, other server) {
	t.Helper()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	in := func() server {
		f := dispatchtest.Over(t, d, workspace, transporttest.Named(t, d, name))
		s := server{f, bus.NewService(d, f.Wake, f.Jobs.Secrets, nil, nil),
			screens.New(d, eventlog.New(d, nil), f.Wake, slog.New(slog.DiscardHandler))}
		t.Cleanup(func() { s.messages.Close(); s.screens.Close() })
		return s
	}
	one, other = in(), in()
	if name != transport.NamePoll {
		<-one.Listening
		<-other.Listening
	}
	return one, other
}

// wait lets somebody wait at one server, and returns what happens at another one and whether the
// one who waited got it.
type wait func(t *testing.T, here, there server) (happens func(), got <-chan bool)

// waits are all kinds, each with the topics that end it.
var waits = map[string]struct {
	topics string
	begin  wait
}{
	"a claim for a job":    {"lane:", claimForAJob},
	"a claim for a seat":   {"seat:", claimForASeat},
	"a reader of an inbox": {"message:", readerOfAnInbox},
	"an open log":          {"log:", openLog},
	"the board":            {"event:", board},
	"a page of messages":   {"messages:", pageOfMessages},
	"a page of members":    {"members:", pageOfMembers},
}

// Whoever waits at one server for what happens at another one gets it, over each transport: by a
// message, or without any by looking.
func TestEveryKindOfWaitEnds(t *testing.T) {
	for _, name := range []string{transport.NameListen, transport.NameNATS, transport.NamePoll} {
		for what, kind := range waits {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				here, there := twoServers(t, name)
				came := make(chan string, 1000)
				t.Cleanup(here.Wake.Subscribe(kind.topics, func(topic string) { came <- topic }))
				happens, got := kind.begin(t, here, there)
				happens()
				within(t, got, func(right bool) bool { return right })
				if name != transport.NamePoll {
					within(t, came, func(topic string) bool { return topic != kind.topics })
				} else if !here.Wake.Status().LastMessageAt.IsZero() {
					t.Error("a message came")
				}
			})
		}
	}
}

// within waits until what is wanted comes.
func within[T any](t *testing.T, from <-chan T, wanted func(T) bool) {
	t.Helper()
	patience := time.After(time.Minute)
	for {
		select {
		case one := <-from:
			if wanted(one) {
				return
			}
		case <-patience:
			t.Fatal("it did not come")
		}
	}
}

// claims waits with a claim of an agent, and tells whether it got a job.
func (s server) claims(agent tenancy.Principal) <-chan bool {
	got := make(chan bool, 1)
	go func() {
		answer, err := s.Dispatch.Claim(s.Ctx, agent, claim.Request{Wait: waitlist.MaxWait})
		got <- err == nil && len(answer.Jobs) == 1
	}()
	for s.Dispatch.Waiting(s.Workspace) == 0 {
		<-time.After(time.Millisecond)
	}
	return got
}

func claimForAJob(_ *testing.T, here, there server) (happens func(), got <-chan bool) {
	agent := here.Agent("a")
	got = here.claims(agent)
	return func() { there.Job("for the other") }, got
}

func claimForASeat(_ *testing.T, here, there server) (happens func(), got <-chan bool) {
	of := func(r *fleet.Registration) { r.Factory.Name, r.Factory.Seats = "rook", 1 }
	busy, agent := here.Agent("a", of), here.Agent("b", of)
	here.Job("first")
	held := there.Claim(busy)
	here.Job("second")
	got = here.claims(agent)
	return func() { there.Complete(busy, held) }, got
}

func readerOfAnInbox(_ *testing.T, here, there server) (happens func(), got <-chan bool) {
	agent := here.Agent("a")
	read := make(chan bool, 1)
	go func() {
		inbox, err := here.messages.Read(here.Ctx, agent, bus.Query{Wait: bus.MaxWait, Limit: 1})
		read <- err == nil && len(inbox.Messages) == 1
	}()
	return func() { there.tells(agent) }, read
}

// tells sends a message to an agent.
func (s server) tells(agent tenancy.Principal) {
	s.T.Helper()
	_, err := s.messages.Publish(s.Ctx, s.Owner, bus.Draft{Type: "custom.note", To: bus.Address{Kind: bus.ToAgent, Name: agent.Name},
		Payload: json.RawMessage(`{}`)})
	if err != nil {
		s.T.Error(err)
	}
}

func openLog(t *testing.T, here, there server) (happens func(), got <-chan bool) {
	agent := there.Agent("a")
	there.Job("with a log")
	held := there.Claim(agent)
	written, cancel := here.Dispatch.WatchLogs(here.Workspace, held.ID)
	t.Cleanup(cancel)
	return func() {
		line := joblog.Line{Level: "INFO", Message: "hello"}
		if _, err := there.Dispatch.WriteLogs(there.Ctx, agent, dispatchtest.Ref(held), []joblog.Line{line}); err != nil {
			t.Error(err)
		}
	}, toldBy(written)
}

func board(t *testing.T, here, there server) (happens func(), got <-chan bool) {
	ctx, cancel := context.WithCancel(here.Ctx)
	t.Cleanup(cancel)
	at, err := here.screens.Cursor(ctx, here.Owner)
	if err != nil {
		t.Fatal(err)
	}
	updates, err := here.screens.Watch(ctx, here.Owner, at)
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan bool, 1)
	go func() {
		u := <-updates
		shown <- u != nil && len(u.Changed) == 1
	}()
	return func() { there.Job("on the board") }, shown
}

func pageOfMessages(t *testing.T, here, there server) (happens func(), got <-chan bool) {
	agent := there.Agent("a")
	changed, stop := here.messages.Watch(here.Workspace)
	t.Cleanup(stop)
	return func() { there.tells(agent) }, toldBy(changed)
}

func pageOfMembers(t *testing.T, here, there server) (happens func(), got <-chan bool) {
	people := accountstest.New(here.DB, here.Wake, slog.New(slog.DiscardHandler))
	changed := make(chan struct{}, 100)
	t.Cleanup(people.Members.OnMembers(here.Workspace, func() { changed <- struct{}{} }))
	others := accountstest.New(there.DB, there.Wake, slog.New(slog.DiscardHandler))
	return func() { others.Members.Changed(there.Workspace) }, toldBy(changed)
}

// toldBy turns the first token into an answer.
func toldBy(tokens <-chan struct{}) <-chan bool {
	told := make(chan bool, 1)
	go func() { <-tokens; told <- true }()
	return told
}
