package accounts

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db/dbtest"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// begun commits a session of an account under a token.
func (s setting) begun(t *testing.T, token string, account ids.ID, values map[string]any) {
	t.Helper()
	all := map[string]any{SessionAccount: account.String(), SessionUserAgent: "agent of " + token}
	for name, value := range values {
		all[name] = value
	}
	if err := NewSessionStore(s.db).Commit(token, sessionData(t, all), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
}

// opens reports whether the session of a token is live.
func (s setting) opens(t *testing.T, token string) bool {
	t.Helper()
	_, found, err := NewSessionStore(s.db).Find(token)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s setting) listed(t *testing.T, who tenancy.Principal, token string) []Session {
	t.Helper()
	list, err := s.Sessions(t.Context(), who, token)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// events counts the events of a type in the asker's workspace with a payload.
func events(t *testing.T, conn *pgx.Conn, who tenancy.Principal, typ eventlog.Type, payload string) int {
	t.Helper()
	return count(t, conn, `SELECT count(*) FROM event WHERE workspace_id = $1 AND type = $2 AND payload @> $3::jsonb
		AND actor = $4 AND actor_kind = 'person'`, who.Workspace, string(typ), payload, who.Name)
}

func TestSessionsAreListed(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	who, eve := s.owner(t), another(t, conn)
	for _, token := range []string{"first", "second", "ended", "expired", "idle"} {
		s.begun(t, token, who.Account, nil)
	}
	s.begun(t, "eve", eve.Account, nil)
	s.begun(t, "half", ids.Nil, map[string]any{SessionAccount: "", SessionHalf: who.Account.String()})
	exec(t, conn, "UPDATE session SET ended_at = now() WHERE token_hash = sha256('ended')")
	exec(t, conn, "UPDATE session SET expires_at = now() - interval '1 second' WHERE token_hash = sha256('expired')")
	exec(t, conn, "UPDATE session SET last_seen_at = now() - interval '3 hours 1 second' WHERE token_hash = sha256('idle')")

	list := s.listed(t, who, "first")
	if len(list) != 2 || !list[0].This || list[0].UserAgent != "agent of first" || list[1].This || list[1].UserAgent != "agent of second" {
		t.Errorf("listed %+v", list)
	}
	if s.opens(t, "idle") {
		t.Error("a session that nothing was heard of for three hours opens the server")
	}
	_, err := s.Sessions(t.Context(), tenancy.System(who.Workspace, "loop"), "first")
	wantFault(t, err, fault.Forbidden)
}

func TestEndOneSession(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	who, eve := s.owner(t), another(t, conn)
	s.begun(t, "mine", who.Account, nil)
	s.begun(t, "phone", who.Account, nil)
	s.begun(t, "eve", eve.Account, nil)
	phone := s.listed(t, who, "mine")[1].ID

	// Another person's session is not there, whoever knows its name.
	wantFault(t, s.EndSession(t.Context(), eve, phone), fault.NotFound)
	wantFault(t, s.EndSession(t.Context(), who, s.listed(t, eve, "eve")[0].ID), fault.NotFound)
	if err := s.EndSession(t.Context(), who, phone); err != nil {
		t.Fatal(err)
	}
	if s.opens(t, "phone") || !s.opens(t, "mine") || !s.opens(t, "eve") {
		t.Error("another session ended than the one that was named")
	}
	wantFault(t, s.EndSession(t.Context(), who, phone), fault.NotFound)
	if n := events(t, conn, who, eventlog.SessionsEnded, `{"sessions": 1}`); n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestEndOtherSessions(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	who := s.owner(t)
	for _, token := range []string{"mine", "phone", "old"} {
		s.begun(t, token, who.Account, nil)
	}
	s.begun(t, "half", ids.Nil, map[string]any{SessionAccount: "", SessionHalf: who.Account.String()})
	exec(t, conn, "UPDATE session SET expires_at = now() - interval '1 second' WHERE token_hash = sha256('old')")
	n, err := s.EndOtherSessions(t.Context(), who, "mine")
	if err != nil || n != 1 {
		t.Fatalf("%d sessions ended, want the one that was live: %v", n, err)
	}
	if !s.opens(t, "mine") || s.opens(t, "phone") || s.opens(t, "half") {
		t.Error("not exactly the others ended")
	}
	if n, err := s.EndOtherSessions(t.Context(), who, "mine"); err != nil || n != 0 {
		t.Errorf("the second time: %d, %v", n, err)
	}
	if n := events(t, conn, who, eventlog.SessionsEnded, `{}`); n != 1 {
		t.Errorf("%d events, want one: nothing ended the second time", n)
	}
}

// A log in whose password was right before "log out everywhere", and whose session
// is written after it, is over before it begins.
func TestEndAllSessionsReachesLogInsUnderWay(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	who := s.owner(t)
	s.begun(t, "mine", who.Account, nil)
	under, err := s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EndAllSessions(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	s.begun(t, "late", who.Account, map[string]any{SessionEpoch: "0"})
	if under.Epoch != 0 || s.opens(t, "mine") || s.opens(t, "late") {
		t.Errorf("epoch %d; a session of before, or of a log in under way, opens the server", under.Epoch)
	}
	epoch, err := s.SessionEpoch(t.Context(), who.Account)
	if err != nil || epoch != 1 {
		t.Fatalf("epoch = %d, %v", epoch, err)
	}
	s.begun(t, "new", who.Account, map[string]any{SessionEpoch: "1"})
	if !s.opens(t, "new") {
		t.Error("a session of after does not open the server")
	}
	if n := events(t, conn, who, eventlog.SessionsEnded, `{"sessions": 1}`); n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestSessionIsSeenOnceAMinute(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	who := s.owner(t)
	s.begun(t, "mine", who.Account, nil)
	seen := func() (age int) {
		return count(t, conn, "SELECT extract(epoch FROM now() - last_seen_at)::integer FROM session")
	}
	exec(t, conn, "UPDATE session SET last_seen_at = now() - interval '50 seconds'")
	if s.opens(t, "mine"); seen() < 50 {
		t.Error("written again within the minute")
	}
	exec(t, conn, "UPDATE session SET last_seen_at = now() - interval '70 seconds'")
	if s.opens(t, "mine"); seen() > 30 {
		t.Error("not noted as seen")
	}
	exec(t, conn, "UPDATE session SET last_seen_at = now() - interval '70 seconds', ended_at = now()")
	if s.opens(t, "mine") || seen() < 70 {
		t.Error("a session that was ended is seen, or opens the server")
	}
}

func TestARenewedSessionTakesOnlyALivePlace(t *testing.T) {
	s := startedWithOwner(t)
	who := s.owner(t)
	s.begun(t, "mine", who.Account, nil)
	if err := s.EndThisSession(t.Context(), "mine"); err != nil {
		t.Fatal(err)
	}
	wantFault(t, s.EndThisSession(t.Context(), "mine"), fault.Unauthenticated)
}
