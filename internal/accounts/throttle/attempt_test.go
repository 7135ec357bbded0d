package throttle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/throttle"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Wrong passwords from one network make that network wait, with every next one
// longer, and nobody else.
func TestWrongPasswordsHoldUpTheirNetwork(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	const enemy, home = "192.0.2.1", "192.0.2.6"
	for range throttle.PerNeighbour.Free {
		_, err := s.LogIns.LogIn(t.Context(), accountstest.Email, "wrong password", accountstest.From(enemy))
		accountstest.WantFault(t, err, fault.Unauthenticated)
	}
	neighbour := s.Throttle.At(throttle.Password, accountstest.Email, enemy)[1].Subject
	for _, c := range []struct{ failures, least, most int }{{5, 1, 1}, {9, 15, 16}, {5000, 899, 900}} {
		accountstest.Exec(t, conn, "UPDATE login_throttle SET failures = $1, last_failed_at = now() WHERE subject = $2", c.failures, neighbour)
		_, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From(enemy))
		if wait := accountstest.Refusal(t, err, fault.TooMany).Details["retry_after"].(int); wait < c.least || wait > c.most {
			t.Errorf("after %d failures: wait %d s", c.failures, wait)
		}
	}
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From(home)); err != nil {
		t.Errorf("the owner elsewhere: %v", err)
	}
	// When the wait is over the right password works and clears the count.
	accountstest.Exec(t, conn, "UPDATE login_throttle SET last_failed_at = now() - interval '15 minutes'")
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From(enemy)); err != nil {
		t.Fatalf("after the wait: %v", err)
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM login_throttle WHERE subject = $1", neighbour); n != 0 {
		t.Error("the count stays after a right password")
	}
}

// Wrong passwords from very many networks make strangers wait a little, and the
// account's own browser not at all. It is known until the password changes.
func TestAKnownDevicePassesTheSoftCap(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	const here = "192.0.2.1"
	in, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From(here))
	if err != nil {
		t.Fatal(err)
	}
	known := devices.Origin{Address: here, Devices: s.Devices.Know("", in.ID, in.Epoch)}
	storm := func() {
		for _, throttle := range s.Throttle.At(throttle.Password, accountstest.Email, here) {
			accountstest.Exec(t, conn, "INSERT INTO login_throttle VALUES ($1, 5000, now()) ON CONFLICT (subject) DO UPDATE SET failures = 5000, last_failed_at = now()", throttle.Subject)
		}
	}
	storm()
	_, err = s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From("203.0.113.1"))
	if wait := accountstest.Refusal(t, err, fault.TooMany).Details["retry_after"].(int); wait < 50 || wait > 60 {
		t.Errorf("a stranger waits %d s", wait)
	}
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, known); err != nil {
		t.Errorf("the known device: %v", err)
	}
	// It is counted by itself.
	for range throttle.PerDevice.Free {
		_, err := s.LogIns.LogIn(t.Context(), accountstest.Email, "wrong password", known)
		accountstest.WantFault(t, err, fault.Unauthenticated)
	}
	accountstest.Exec(t, conn, "UPDATE login_throttle SET last_failed_at = now()")
	_, err = s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, known)
	accountstest.WantFault(t, err, fault.TooMany)

	for name, browser := range map[string]string{
		"another account's": s.Devices.Know("", ids.New(), in.Epoch), "one of before": s.Devices.Know("", in.ID, in.Epoch-1),
		"a forged one": known.Devices[:10] + "A" + known.Devices[11:], "junk": strings.Repeat("x.", 5000),
	} {
		storm()
		_, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: "203.0.113.1", Devices: browser})
		if !fault.Is(err, fault.TooMany) {
			t.Errorf("%s passes: %v", name, err)
		}
	}
	s.Clock.At = func() time.Time { return time.Now().Add(devices.Life + time.Minute) }
	if _, ok := s.Devices.Known(known.Devices, in.ID, in.Epoch); ok {
		t.Error("it is known for ever")
	}
	s.Clock.At = time.Now
	if err := s.Sessions.EndAll(t.Context(), s.Owner(t)); err != nil {
		t.Fatal(err)
	}
	_, err = s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: "203.0.113.1", Devices: known.Devices})
	accountstest.WantFault(t, err, fault.TooMany)
}
