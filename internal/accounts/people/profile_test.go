package people_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestRename(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	who := s.Owner(t)
	for _, name := range []string{"", "  ", strings.Repeat("x", 101), "A\x00da"} {
		f := accountstest.Refusal(t, s.People.Rename(t.Context(), who, name), fault.Validation)
		if f.Fields["name"] == "" {
			t.Errorf("%q: fields %v", name, f.Fields)
		}
	}
	for range 2 {
		if err := s.People.Rename(t.Context(), who, " Ada Lovelace "); err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.People.Profile(t.Context(), who)
	if err != nil || p.Name != "Ada Lovelace" || p.Email != accountstest.Email || !p.HasPassword || p.SecondFactorSince != nil {
		t.Errorf("profile %+v, %v", p, err)
	}
	if n := accountstest.Count(t, conn, `SELECT count(*) FROM event WHERE type = 'account.renamed' AND workspace_id = $1
		AND changes @> '[{"field": "name", "new": "Ada Lovelace"}]'`, who.Workspace); n != 1 {
		t.Errorf("%d events for one change", n)
	}
}
