package db_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// The server says what the database lacks, and nothing else.
func TestAdviceNamesWhatTheServerLacks(t *testing.T) {
	t.Parallel()
	owner := dbtest.Owner(t, dbtest.New(t))
	url := owner.Config().ConnString()
	name := owner.Config().Database
	advice := func() string {
		t.Helper()
		d, err := db.Open(t.Context(), db.Options{OwnerURL: url})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		list, err := d.Advice(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(list, "\n")
	}
	if got := advice(); strings.Contains(got, "synchronous_commit") || strings.Contains(got, "standby") || strings.Contains(got, "UTF8") ||
		strings.Contains(got, "max_connections") {
		t.Errorf("a server that is in order lacks %q", got)
	}
	if _, err := owner.Exec(t.Context(), "ALTER DATABASE "+name+" SET synchronous_commit = off"); err != nil {
		t.Fatal(err)
	}
	if got := advice(); !strings.Contains(got, "synchronous_commit is off: a crash loses") {
		t.Errorf("with synchronous_commit off: %q", got)
	}
}

// Plans do not depend on what a server's administrator chose for its disks.
func TestATransactionHasItsOwnCosts(t *testing.T) {
	t.Parallel()
	owner := dbtest.Owner(t, dbtest.New(t))
	name := owner.Config().Database
	for _, setting := range []string{"random_page_cost = 40", "jit = on"} {
		if _, err := owner.Exec(t.Context(), "ALTER DATABASE "+name+" SET "+setting); err != nil {
			t.Fatal(err)
		}
	}
	d, err := db.Open(t.Context(), db.Options{OwnerURL: owner.Config().ConnString()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var cost, jit string
	err = d.In(t.Context(), db.None, func(tx db.Tx) error {
		return tx.QueryRow(t.Context(), "SELECT current_setting('random_page_cost'), current_setting('jit')").Scan(&cost, &jit)
	})
	if err != nil || cost != "1.1" || jit != "off" {
		t.Errorf("random_page_cost %s, jit %s, %v; want 1.1 and off", cost, jit, err)
	}
}
