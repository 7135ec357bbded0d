package sessions_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
)

func TestSessionRoundTrip(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	store, who := sessions.NewStore(s.DB), s.Owner(t)
	data := accountstest.SessionData(t, map[string]any{
		sessions.Account: who.Account.String(), sessions.Address: "192.0.2.1", sessions.UserAgent: "Browser\x00 1",
	})
	expiry := time.Now().Add(time.Hour)
	if err := store.Commit("token", data, expiry); err != nil {
		t.Fatal(err)
	}
	got, found, err := store.Find("token")
	if err != nil || !found || !bytes.Equal(got, data) {
		t.Fatalf("found = %v, err = %v", found, err)
	}
	n := accountstest.Count(t, conn, `SELECT count(*) FROM session WHERE account_id = $1 AND ip = '192.0.2.1'
		AND user_agent = 'Browser 1' AND token_hash = sha256('token')`, who.Account)
	if n != 1 {
		t.Error("the session's columns do not say whose it is, or the token is not hashed")
	}
	if _, found, err := store.Find("another"); found || err != nil {
		t.Errorf("unknown token: %v, %v", found, err)
	}
	accountstest.Exec(t, conn, "UPDATE session SET expires_at = now() - interval '1 second'")
	if _, found, err := store.Find("token"); found || err != nil {
		t.Errorf("expired session: %v, %v", found, err)
	}
}

// A request that began before the log out saves its session after it.
func TestEndedSessionStaysEnded(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	store := sessions.NewStore(s.DB)
	data, late, expiry := accountstest.SessionData(t, nil), accountstest.SessionData(t, map[string]any{"late": "yes"}), time.Now().Add(time.Hour)
	for _, step := range []func() error{
		func() error { return store.Commit("token", data, expiry) },
		func() error { return store.Delete("token") },
		func() error { return store.Commit("token", late, expiry) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if _, found, err := store.Find("token"); found || err != nil {
		t.Errorf("the ended session came back: %v, %v", found, err)
	}
	if n := accountstest.Count(t, dbtest.Owner(t, s.DB), "SELECT count(*) FROM session WHERE data = $1 AND ended_at IS NOT NULL", data); n != 1 {
		t.Error("the tombstone was written over")
	}
}

func TestEndedSessionStaysEndedUnderRace(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	store := sessions.NewStore(s.DB)
	data, expiry := accountstest.SessionData(t, nil), time.Now().Add(time.Hour)
	if err := store.Commit("token", data, expiry); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				if err := store.Commit("token", data, expiry); err != nil {
					t.Error(err)
				}
			}
		})
		if i == 3 {
			wg.Go(func() {
				if err := store.Delete("token"); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if _, found, err := store.Find("token"); found || err != nil {
		t.Errorf("the ended session came back: %v, %v", found, err)
	}
}
