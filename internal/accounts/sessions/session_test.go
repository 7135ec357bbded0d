package sessions_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func listed(t *testing.T, s accountstest.Setting, who tenancy.Principal, token string) []sessions.Session {
	t.Helper()
	list, err := s.Sessions.List(t.Context(), who, token)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSessionsAreListed(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	who, eve := s.Owner(t), dbfactory.Foreigner(t, conn)
	for _, token := range []string{"first", "second", "ended", "expired", "idle"} {
		s.Begun(t, token, who.Account, nil)
	}
	s.Begun(t, "eve", eve.Account, nil)
	s.Begun(t, "half", ids.Nil, map[string]any{sessions.Account: "", sessions.Half: who.Account.String()})
	accountstest.Exec(t, conn, "UPDATE session SET ended_at = now() WHERE token_hash = sha256('ended')")
	accountstest.Exec(t, conn, "UPDATE session SET expires_at = now() - interval '1 second' WHERE token_hash = sha256('expired')")
	accountstest.Exec(t, conn, "UPDATE session SET last_seen_at = now() - interval '3 hours 1 second' WHERE token_hash = sha256('idle')")

	list := listed(t, s, who, "first")
	if len(list) != 2 || !list[0].This || list[0].UserAgent != "agent of first" || list[1].This || list[1].UserAgent != "agent of second" {
		t.Errorf("listed %+v", list)
	}
	if s.Opens(t, "idle") {
		t.Error("a session that nothing was heard of for three hours opens the server")
	}
	_, err := s.Sessions.List(t.Context(), tenancy.System(who.Workspace, "loop"), "first")
	accountstest.WantFault(t, err, fault.Forbidden)
}

func TestEndOneSession(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	who, eve := s.Owner(t), dbfactory.Foreigner(t, conn)
	s.Begun(t, "mine", who.Account, nil)
	s.Begun(t, "phone", who.Account, nil)
	s.Begun(t, "eve", eve.Account, nil)
	phone := listed(t, s, who, "mine")[1].ID

	// Another person's session is not there, whoever knows its name.
	accountstest.WantFault(t, s.Sessions.End(t.Context(), eve, phone), fault.NotFound)
	accountstest.WantFault(t, s.Sessions.End(t.Context(), who, listed(t, s, eve, "eve")[0].ID), fault.NotFound)
	if err := s.Sessions.End(t.Context(), who, phone); err != nil {
		t.Fatal(err)
	}
	if s.Opens(t, "phone") || !s.Opens(t, "mine") || !s.Opens(t, "eve") {
		t.Error("another session ended than the one that was named")
	}
	accountstest.WantFault(t, s.Sessions.End(t.Context(), who, phone), fault.NotFound)
	if n := dbfactory.EventsBy(t, conn, who, string(eventlog.SessionsEnded), `{"sessions": 1}`); n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestEndOtherSessions(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	who := s.Owner(t)
	for _, token := range []string{"mine", "phone", "old"} {
		s.Begun(t, token, who.Account, nil)
	}
	s.Begun(t, "half", ids.Nil, map[string]any{sessions.Account: "", sessions.Half: who.Account.String()})
	accountstest.Exec(t, conn, "UPDATE session SET expires_at = now() - interval '1 second' WHERE token_hash = sha256('old')")
	n, err := s.Sessions.EndOthers(t.Context(), who, "mine")
	if err != nil || n != 1 {
		t.Fatalf("%d sessions ended, want the one that was live: %v", n, err)
	}
	if !s.Opens(t, "mine") || s.Opens(t, "phone") || s.Opens(t, "half") {
		t.Error("not exactly the others ended")
	}
	if n, err := s.Sessions.EndOthers(t.Context(), who, "mine"); err != nil || n != 0 {
		t.Errorf("the second time: %d, %v", n, err)
	}
	if n := dbfactory.EventsBy(t, conn, who, string(eventlog.SessionsEnded), `{}`); n != 1 {
		t.Errorf("%d events, want one: nothing ended the second time", n)
	}
}

// A log in whose password was right before "log out everywhere", and whose session
// is written after it, is over before it begins.
func TestEndAllSessionsReachesLogInsUnderWay(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	who := s.Owner(t)
	s.Begun(t, "mine", who.Account, nil)
	under, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sessions.EndAll(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	s.Begun(t, "late", who.Account, map[string]any{sessions.Epoch: "0"})
	if under.Epoch != 0 || s.Opens(t, "mine") || s.Opens(t, "late") {
		t.Errorf("epoch %d; a session of before, or of a log in under way, opens the server", under.Epoch)
	}
	epoch, err := s.Sessions.Epoch(t.Context(), who.Account)
	if err != nil || epoch != 1 {
		t.Fatalf("epoch = %d, %v", epoch, err)
	}
	s.Begun(t, "new", who.Account, map[string]any{sessions.Epoch: "1"})
	if !s.Opens(t, "new") {
		t.Error("a session of after does not open the server")
	}
	if n := dbfactory.EventsBy(t, conn, who, string(eventlog.SessionsEnded), `{"sessions": 1}`); n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestSessionIsSeenOnceAMinute(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	who := s.Owner(t)
	s.Begun(t, "mine", who.Account, nil)
	seen := func() (age int) {
		return accountstest.Count(t, conn, "SELECT extract(epoch FROM now() - last_seen_at)::integer FROM session")
	}
	accountstest.Exec(t, conn, "UPDATE session SET last_seen_at = now() - interval '50 seconds'")
	if s.Opens(t, "mine"); seen() < 50 {
		t.Error("written again within the minute")
	}
	accountstest.Exec(t, conn, "UPDATE session SET last_seen_at = now() - interval '70 seconds'")
	if s.Opens(t, "mine"); seen() > 30 {
		t.Error("not noted as seen")
	}
	accountstest.Exec(t, conn, "UPDATE session SET last_seen_at = now() - interval '70 seconds', ended_at = now()")
	if s.Opens(t, "mine") || seen() < 70 {
		t.Error("a session that was ended is seen, or opens the server")
	}
}

func TestARenewedSessionTakesOnlyALivePlace(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	who := s.Owner(t)
	s.Begun(t, "mine", who.Account, nil)
	if err := s.Sessions.EndThis(t.Context(), "mine"); err != nil {
		t.Fatal(err)
	}
	accountstest.WantFault(t, s.Sessions.EndThis(t.Context(), "mine"), fault.Unauthenticated)
}
