package accounts

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"

	"fleetboard/db/dbtest"
)

func sessionData(t *testing.T, values map[string]any) []byte {
	t.Helper()
	data, err := scs.GobCodec{}.Encode(time.Now().Add(time.Hour), values)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSessionRoundTrip(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	store, who := NewSessionStore(s.db), s.owner(t)
	data := sessionData(t, map[string]any{
		SessionAccount: who.Account.String(), SessionAddress: "192.0.2.1", SessionUserAgent: "Browser\x00 1",
	})
	expiry := time.Now().Add(time.Hour)
	if err := store.Commit("token", data, expiry); err != nil {
		t.Fatal(err)
	}
	got, found, err := store.Find("token")
	if err != nil || !found || !bytes.Equal(got, data) {
		t.Fatalf("found = %v, err = %v", found, err)
	}
	n := count(t, conn, `SELECT count(*) FROM session WHERE account_id = $1 AND ip = '192.0.2.1'
		AND user_agent = 'Browser 1' AND token_hash = sha256('token')`, who.Account)
	if n != 1 {
		t.Error("the session's columns do not say whose it is, or the token is not hashed")
	}
	if _, found, err := store.Find("another"); found || err != nil {
		t.Errorf("unknown token: %v, %v", found, err)
	}
	exec(t, conn, "UPDATE session SET expires_at = now() - interval '1 second'")
	if _, found, err := store.Find("token"); found || err != nil {
		t.Errorf("expired session: %v, %v", found, err)
	}
}

// A request that began before the log out saves its session after it.
func TestEndedSessionStaysEnded(t *testing.T) {
	s := startedWithOwner(t)
	store := NewSessionStore(s.db)
	data, late, expiry := sessionData(t, nil), sessionData(t, map[string]any{"late": "yes"}), time.Now().Add(time.Hour)
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
	if n := count(t, dbtest.Owner(t, s.db), "SELECT count(*) FROM session WHERE data = $1 AND ended_at IS NOT NULL", data); n != 1 {
		t.Error("the tombstone was written over")
	}
}

func TestEndedSessionStaysEndedUnderRace(t *testing.T) {
	s := startedWithOwner(t)
	store := NewSessionStore(s.db)
	data, expiry := sessionData(t, nil), time.Now().Add(time.Hour)
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

func TestExpire(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	owner := s.owner(t).Account
	exec(t, conn, `INSERT INTO session (token_hash, data, expires_at) VALUES ('old', '', now() - interval '1 second'),
		('new', '', now() + interval '1 hour')`)
	exec(t, conn, `INSERT INTO session (token_hash, data, expires_at, ended_at) VALUES ('tomb', '', now() + interval '1 hour', now())`)
	exec(t, conn, `INSERT INTO setup_link (token_hash, account_id, expires_at) VALUES ('old', $1, now() - interval '1 second'),
		('new', $1, now() + interval '1 hour')`, owner)
	exec(t, conn, `INSERT INTO login_throttle (subject, failures, last_failed_at) VALUES ('old', 9, now() - interval '25 hours'),
		('new', 9, now())`)
	if err := s.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]int{"session": 2, "setup_link": 1, "login_throttle": 1} {
		if n := count(t, conn, "SELECT count(*) FROM "+table); n != want {
			t.Errorf("%d rows left in %s, want %d", n, table, want)
		}
	}
	if n := count(t, conn, "SELECT count(*) FROM session WHERE token_hash = 'tomb'"); n != 1 {
		t.Error("the tombstone went before its time")
	}
}

func TestExpireIsBounded(t *testing.T) {
	s := started(t)
	conn := dbtest.Owner(t, s.db)
	exec(t, conn, `INSERT INTO session (token_hash, data, expires_at)
		SELECT sha256(n::text::bytea), '', now() - interval '1 second' FROM generate_series(1, $1::integer + 5) n`, sweepRows)
	for _, want := range []int{5, 0} {
		if err := s.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, conn, "SELECT count(*) FROM session"); n != want {
			t.Errorf("%d rows left, want %d", n, want)
		}
	}
}
