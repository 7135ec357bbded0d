package dbtest_test

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func TestWhatIsKeptComesBack(t *testing.T) {
	d := dbtest.New(t)
	ours, theirs := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	account := ids.New()
	dbfactory.Exec(t, d, "INSERT INTO account (id, email, name) VALUES ($1, 'ada@example.org', 'Ada')", account)
	dbfactory.Exec(t, d, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'owner')", ours, account)
	k := dbtest.Keep(t, d, ours)
	if got := append(k.Changed(), k.ChangedWithin()...); len(got) > 0 {
		t.Errorf("nothing has changed but %v", got)
	}
	dbfactory.Exec(t, d, "UPDATE product SET name = 'other' WHERE workspace_id = $1", theirs)
	if got := k.Changed(); !slices.Equal(got, []string{"product"}) {
		t.Errorf("changed: %v, want product", got)
	}
	if got := k.ChangedWithin(); len(got) > 0 {
		t.Errorf("%v changed in the other workspace only", got)
	}
	dbfactory.Exec(t, d, "DELETE FROM product")
	dbfactory.Exec(t, d, "INSERT INTO account (id, email, name) VALUES (gen_random_uuid(), 'a@example.org', 'A')")
	if got := k.ChangedWithin(); !slices.Equal(got, []string{"product"}) {
		t.Errorf("changed in ours: %v, want product", got)
	}
	dbfactory.Exec(t, d, "UPDATE account SET name = 'Eve' WHERE id = $1", account)
	if got := k.ChangedWithin(); !slices.Equal(got, []string{"account", "product"}) {
		t.Errorf("changed in ours: %v, want product and the member's account", got)
	}
	k.Restore()
	if got := append(k.Changed(), k.ChangedWithin()...); len(got) > 0 {
		t.Errorf("not restored: %v", got)
	}
	if n := dbfactory.Int(t, d, "SELECT count(*) FROM product"); n != 2 {
		t.Errorf("%d products, want 2", n)
	}
}
