package twofactor_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/throttle"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// The second step has the same limits: who knows the password, and guesses at
// codes, does not keep the account's own browser out.
func TestCodesAreThrottledLikewise(t *testing.T) {
	f := confirmed(t)
	conn := dbtest.Owner(t, f.DB)
	later := noon.Add(time.Minute)
	f.at(later)
	in, err := f.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From(accountstest.Address))
	if err != nil {
		t.Fatal(err)
	}
	const enemy = "192.0.2.77"
	for range throttle.PerNeighbour.Free {
		accountstest.WantFault(t, f.SecondFactors.CheckCode(t.Context(), in.ID, "000000", accountstest.From(enemy)), fault.Unauthenticated)
	}
	accountstest.Exec(t, conn, "UPDATE login_throttle SET last_failed_at = now()")
	accountstest.WantFault(t, f.SecondFactors.CheckCode(t.Context(), in.ID, "00000-00000-00000-00000", accountstest.From(enemy)), fault.TooMany)
	accountstest.Exec(t, conn, "UPDATE login_throttle SET failures = 5000, last_failed_at = now()")
	code := f.code(t, later)
	accountstest.WantFault(t, f.SecondFactors.CheckCode(t.Context(), in.ID, code, accountstest.From("203.0.113.1")), fault.TooMany)
	if err := f.SecondFactors.CheckCode(t.Context(), in.ID, code, devices.Origin{Address: enemy, Devices: f.Devices.Know("", in.ID, in.Epoch)}); err != nil {
		t.Errorf("the known device: %v", err)
	}
}
