package accounts_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
)

func TestExpire(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	owner := s.Owner(t).Account
	accountstest.Exec(t, conn, `INSERT INTO session (token_hash, data, expires_at) VALUES ('old', '', now() - interval '1 second'),
		('new', '', now() + interval '1 hour')`)
	accountstest.Exec(t, conn, `INSERT INTO session (token_hash, data, expires_at, ended_at) VALUES ('tomb', '', now() + interval '1 hour', now())`)
	accountstest.Exec(t, conn, `INSERT INTO setup_link (token_hash, account_id, expires_at) VALUES ('old', $1, now() - interval '1 second'),
		('new', $1, now() + interval '1 hour')`, owner)
	accountstest.Exec(t, conn, `INSERT INTO login_throttle (subject, failures, last_failed_at) VALUES ('old', 9, now() - interval '25 hours'),
		('new', 9, now())`)
	if err := s.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]int{"session": 2, "setup_link": 1, "login_throttle": 1} {
		if n := accountstest.Count(t, conn, "SELECT count(*) FROM "+table); n != want {
			t.Errorf("%d rows left in %s, want %d", n, table, want)
		}
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM session WHERE token_hash = 'tomb'"); n != 1 {
		t.Error("the tombstone went before its time")
	}
}

func TestExpireIsBounded(t *testing.T) {
	s := accountstest.Started(t)
	conn := dbtest.Owner(t, s.DB)
	accountstest.Exec(t, conn, `INSERT INTO session (token_hash, data, expires_at)
		SELECT sha256(n::text::bytea), '', now() - interval '1 second' FROM generate_series(1, $1::integer + 5) n`, accounts.SweepRows)
	for _, want := range []int{5, 0} {
		if err := s.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := accountstest.Count(t, conn, "SELECT count(*) FROM session"); n != want {
			t.Errorf("%d rows left, want %d", n, want)
		}
	}
}
