package tokens_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/transport"
)

// trusting returns a service without a database that believes that nothing was
// revoked.
func trusting() *accounts.Parts {
	s := accountstest.NewService(nil)
	s.Tokens.ReadRevocationsAt(time.Now().Add(time.Hour))
	return s
}

// process returns a web process on a database, which may hear of what others did and
// may watch.
func process(t *testing.T, d *db.DB, hears, watches bool) *accounts.Parts {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	wake := transporttest.Notifier(t, d)
	s := accountstest.New(d, wake, log)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{}, 2)
	goOn := func(run func(context.Context) error) {
		go func() { _ = run(ctx); ended <- struct{}{} }()
		t.Cleanup(func() { stop(); <-ended })
	}
	if hears {
		goOn(wake.Run)
	}
	if watches {
		goOn(s.Tokens.Watch)
	}
	return s
}

// enrolled returns an agent with a token of an enrolment token that is not revoked.
func enrolled(t *testing.T, s *accounts.Parts, owner tenancy.Principal) (token string, who, enrolment tenancy.Principal) {
	t.Helper()
	plain, err := s.Tokens.Issue(t.Context(), owner, tokens.NewToken{Kind: tenancy.KindEnrolment, Name: "hosts"})
	if err != nil {
		t.Fatal(err)
	}
	if enrolment, err = s.Tokens.Bearer(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	who = agent()
	who.Workspace, who.Token, who.Generation = owner.Workspace, enrolment.Token, 3
	if token, _, err = s.Tokens.IssueAgentToken(who); err != nil {
		t.Fatal(err)
	}
	return token, who, enrolment
}

func accepts(t *testing.T, s *accounts.Parts, token string) {
	t.Helper()
	if _, err := s.Tokens.Bearer(t.Context(), token); err != nil {
		t.Fatalf("a token that nobody ended: %v", err)
	}
}

// refusesWithin tries again and again until the token is refused.
func refusesWithin(t *testing.T, s *accounts.Parts, token string, limit time.Duration, code fault.Code) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := s.Tokens.Bearer(t.Context(), token)
		if fault.Is(err, code) {
			return
		}
		if err != nil {
			t.Fatalf("the token is refused, but with %v; want %s", err, code)
		}
		select {
		case <-deadline.C:
			t.Fatalf("the token is still accepted after %s", limit)
		case <-tick.C:
		}
	}
}

// The agents of a revoked enrolment token are refused by the very next call in
// the process that revoked it, and within five seconds (give a busy machine more) in
// the others: in one that is notified, in one whose listening connection was cut, in one
// that receives nothing, and in one that receives nothing and does not even watch.
func TestRevocationReachesEveryProcess(t *testing.T) {
	if tokens.RevocationsLive > 5*time.Second {
		t.Errorf("what a process knows is believed for %s", tokens.RevocationsLive)
	}
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	here := process(t, s.DB, true, true)
	others := map[string]*accounts.Parts{
		"told":           process(t, s.DB, true, true),
		"deaf":           process(t, s.DB, false, true),
		"deaf and blind": process(t, s.DB, false, false),
	}
	token, _, enrolment := enrolled(t, here, owner)
	accepts(t, here, token)
	for _, other := range others {
		accepts(t, other, token)
	}

	conn := dbtest.Owner(t, s.DB)
	accountstest.Exec(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'`)
	if err := here.Tokens.Revoke(t.Context(), owner, enrolment.Token); err != nil {
		t.Fatal(err)
	}
	_, err := here.Tokens.Bearer(t.Context(), token)
	accountstest.WantFault(t, err, fault.TokenRevoked)
	for name, other := range others {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusesWithin(t, other, token, 30*time.Second, fault.TokenRevoked)
		})
	}
}

// A process that was told nothing tells its waiting claims by itself, once it has found out.
func TestALostRevocationIsMadeUpFor(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	here := process(t, s.DB, true, true)
	wake := notifier.New(transport.Poll{}, slog.New(slog.DiscardHandler))
	deaf := accountstest.New(s.DB, wake, slog.New(slog.DiscardHandler))
	token, _, enrolment := enrolled(t, here, owner)
	accepts(t, deaf, token)
	told := make(chan string, 10)
	defer wake.Subscribe(tokens.RevokedTopics, func(topic string) { told <- topic })()

	if err := here.Tokens.Revoke(t.Context(), owner, enrolment.Token); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	go func() { _ = deaf.Tokens.Watch(ctx) }()
	select {
	case topic := <-told:
		if topic != tokens.RevokedTopic(owner.Workspace) {
			t.Errorf("told of %q", topic)
		}
	case <-ctx.Done():
		t.Fatal("it has told nobody")
	}
}

// Where nobody listens and nobody watches, what a process knows grows old: then
// the call itself queries, and what was ended meanwhile is refused.
func TestOldKnowledgeIsNotBelieved(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	owner := s.Owner(t)
	here, other := process(t, s.DB, false, false), process(t, s.DB, false, false)
	token, _, enrolment := enrolled(t, here, owner)
	accepts(t, other, token)
	if err := here.Tokens.Revoke(t.Context(), owner, enrolment.Token); err != nil {
		t.Fatal(err)
	}
	other.Tokens.ReadRevocationsAt(time.Now().Add(time.Hour)) // however long that took
	accepts(t, other, token)                                  // not known yet
	other.Tokens.ReadRevocationsAt(time.Now().Add(-tokens.RevocationsLive))
	_, err := other.Tokens.Bearer(t.Context(), token)
	accountstest.WantFault(t, err, fault.TokenRevoked)
}

// A process that could never read what was revoked trusts no agent.
func TestWithoutTheDatabaseNoAgentIsTrusted(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	other := process(t, s.DB, false, false)
	token, _, _ := enrolled(t, s.Parts, s.Owner(t))
	s.DB.Close()
	if who, err := other.Tokens.Bearer(t.Context(), token); err == nil || fault.Is(err, fault.TokenInvalid) || who.Kind != "" {
		t.Errorf("= %+v, %v although nobody can say that the token is good", who, err)
	}
}

func TestWhyAnAgentsTokenEnds(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	token, who, _ := enrolled(t, s.Parts, s.Owner(t))
	end := func(why tokens.Ended, below int64) {
		t.Helper()
		err := s.DB.In(t.Context(), db.Workspace(who.Workspace), func(tx db.Tx) error {
			return tokens.RevokeAgentTx(t.Context(), tx, who.Workspace, who.Agent, why, below)
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Wake.Publish(tokens.RevokedTopic(who.Workspace))
	}
	end(tokens.EndedSuperseded, who.Generation) // those before it
	accepts(t, s.Parts, token)
	end(tokens.EndedSuperseded, who.Generation+1)
	_, err := s.Tokens.Bearer(t.Context(), token)
	accountstest.WantFault(t, err, fault.Superseded)
	end(tokens.EndedCutOff, who.Generation+2)
	_, err = s.Tokens.Bearer(t.Context(), token)
	accountstest.WantFault(t, err, fault.TokenRevoked)

	// The next generation is good, and so is another agent.
	for _, change := range []func(*tenancy.Principal){
		func(p *tenancy.Principal) { p.Generation += 2 },
		func(p *tenancy.Principal) { p.Agent = ids.New() },
	} {
		other := who
		change(&other)
		good, _, err := s.Tokens.IssueAgentToken(other)
		if err != nil {
			t.Fatal(err)
		}
		accepts(t, s.Parts, good)
	}
}

// A row takes its time before its transaction commits. One that was still open
// while others were read, and newer ones with it, is not lost.
func TestARevocationThatCommitsLateIsSeen(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	token, who, enrolment := enrolled(t, s.Parts, s.Owner(t))
	accountstest.Exec(t, conn, "BEGIN")
	accountstest.Exec(t, conn, "INSERT INTO revocation (workspace_id, subject, reason) VALUES ($1, $2, 'revoked')", who.Workspace, enrolment.Token)
	newer := dbtest.Owner(t, s.DB)
	accountstest.Exec(t, newer, "INSERT INTO revocation (workspace_id, subject, reason) VALUES ($1, $2, 'revoked')", who.Workspace, ids.New())
	if err := s.Tokens.ReadAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	accepts(t, s.Parts, token)
	accountstest.Exec(t, conn, "COMMIT")
	if err := s.Tokens.ReadAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := s.Tokens.Bearer(t.Context(), token)
	accountstest.WantFault(t, err, fault.TokenRevoked)
}

// What is known is forgotten, in the table and in memory, once no token can be
// left that it would end.
func TestRevocationsExpire(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	old, fresh := ids.New(), ids.New()
	accountstest.Exec(t, conn, `INSERT INTO revocation (workspace_id, subject, reason, at) VALUES
		($1, $2, 'revoked', now() - interval '119 minutes'), ($1, $3, 'revoked', now() - interval '1 hour')`, s.First.Workspace, old, fresh)
	if err := s.Tokens.ReadAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Tokens.KnownRevocations()); n != 2 {
		t.Fatalf("%d revocations are known, want 2", n)
	}
	accountstest.Exec(t, conn, "UPDATE revocation SET at = at - interval '2 minutes'")
	if err := s.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM revocation"); n != 1 {
		t.Errorf("%d rows are left, want 1", n)
	}
	s.Tokens.ForgetRevocations(time.Now().Add(2 * time.Minute))
	if _, kept := s.Tokens.KnownRevocations()[[2]ids.ID{s.First.Workspace, fresh}]; !kept || len(s.Tokens.KnownRevocations()) != 1 {
		t.Errorf("known are %v", s.Tokens.KnownRevocations())
	}
}

// Nobody reads the rows of another workspace, but for the loops' role.
func TestRevocationsAreInvisibleElsewhere(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	foreign := dbfactory.Foreigner(t, conn)
	accountstest.Exec(t, conn, "INSERT INTO revocation (workspace_id, subject, reason) VALUES ($1, $2, 'revoked')", s.First.Workspace, ids.New())
	seen := func(in func(fn func(db.Tx) error) error) (n int) {
		t.Helper()
		err := in(func(tx db.Tx) error {
			var err error
			n, err = tokens.CountRevocationsTx(t.Context(), tx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, row := range map[string]struct {
		in   func(fn func(db.Tx) error) error
		want int
	}{
		"own workspace":     {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Workspace(s.First.Workspace), fn) }, 1},
		"another workspace": {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.Workspace(foreign.Workspace), fn) }, 0},
		"no workspace":      {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.None, fn) }, 0},
		"a loop":            {func(fn func(db.Tx) error) error { return s.DB.In(t.Context(), db.System, fn) }, 1},
	} {
		if got := seen(row.in); got != row.want {
			t.Errorf("%s: %d rows seen, want %d", name, got, row.want)
		}
	}
}

func TestRevokedTopic(t *testing.T) {
	id := ids.New()
	if got, ok := tokens.ParseRevokedTopic(tokens.RevokedTopic(id)); !ok || got != id {
		t.Errorf("= %s, %v", got, ok)
	}
	for _, topic := range []string{"", tokens.RevokedTopics, "x"} {
		if _, ok := tokens.ParseRevokedTopic(topic); ok {
			t.Errorf("%q names a workspace", topic)
		}
	}
}
