package accountstest

import (
	"context"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Timeoutless is for calls from other goroutines and properties; the database's
// own limits end them.
var Timeoutless = context.Background()

// Join makes a person in the first workspace.
func (s Setting) Join(t testing.TB, name string, role tenancy.Role) tenancy.Principal {
	t.Helper()
	who := tenancy.Principal{Kind: tenancy.KindPerson, Workspace: s.First.Workspace, Account: ids.New(), Role: role, Name: name}
	conn := dbtest.Owner(t, s.DB)
	dbfactory.Account(t, conn, who.Account, who.Account.String()+"@example.org", name)
	dbfactory.Member(t, conn, who)
	return who
}

// Failer is a test, or one case of a property.
type Failer interface {
	Helper()
	Fatal(args ...any)
}
