package login_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/accounts/throttle"
	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestLogIn(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	account, err := s.LogIns.LogIn(t.Context(), "  ADA@example.org ", accountstest.Password, devices.Origin{Address: "192.0.2.1"})
	if err != nil {
		t.Fatalf("right password: %v", err)
	}
	if account.Email != accountstest.Email || account.Name != setup.OwnerName {
		t.Errorf("account = %+v", account)
	}

	wrong := map[string][2]string{
		"wrong password":  {accountstest.Email, "not the password"},
		"unknown e-mail":  {"bob@example.org", accountstest.Password},
		"empty password":  {accountstest.Email, ""},
		"long password":   {accountstest.Email, strings.Repeat("x", 5000)},
		"NUL in e-mail":   {"ada\x00@example.org", accountstest.Password},
		"broken encoding": {"ada\xff@example.org", accountstest.Password},
	}
	for name, in := range wrong {
		_, err := s.LogIns.LogIn(t.Context(), in[0], in[1], devices.Origin{Address: "192.0.2.1"})
		f := accountstest.Refusal(t, err, fault.Unauthenticated)
		if f.Message != login.WrongLogin {
			t.Errorf("%s: message %q tells more than %q", name, f.Message, login.WrongLogin)
		}
	}
}

func TestLogInWithoutPassword(t *testing.T) {
	s := accountstest.Started(t)
	for _, password := range []string{"", " ", accountstest.Password} {
		_, err := s.LogIns.LogIn(t.Context(), setup.OwnerEmail, password, devices.Origin{Address: "192.0.2.1"})
		accountstest.WantFault(t, err, fault.Unauthenticated)
	}
}

func TestLogInThrottledByAddress(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	_, err := s.LogIns.LogIn(t.Context(), "nobody@example.org", accountstest.Password, devices.Origin{Address: "2001:db8::1"})
	accountstest.WantFault(t, err, fault.Unauthenticated)
	// Far enough that a slow hash does not outlast the wait.
	accountstest.Exec(t, conn, "UPDATE login_throttle SET failures = $1, last_failed_at = now()", throttle.PerNetwork.Free+9)

	// The same network with another name and another host in it.
	_, err = s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: "2001:db8::2"})
	accountstest.WantFault(t, err, fault.TooMany)
	if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: "2001:db8:1::1"}); err != nil {
		t.Errorf("another network: %v", err)
	}
}

// Attempts made at one moment must not all count as the first one.
func TestLogInThrottleHoldsAtOnce(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	const attempts = 20
	var wg sync.WaitGroup
	results := make(chan error, attempts)
	for range attempts {
		wg.Go(func() {
			_, err := s.LogIns.LogIn(t.Context(), accountstest.Email, "wrong password", devices.Origin{Address: "192.0.2.1"})
			results <- err
		})
	}
	wg.Wait()
	close(results)
	tried := 0
	for err := range results {
		switch {
		case fault.Is(err, fault.Unauthenticated):
			tried++
		case !fault.Is(err, fault.TooMany):
			t.Errorf("unexpected: %v", err)
		}
	}
	// A slow machine may see a wait of a second or two end.
	if tried < throttle.PerNeighbour.Free || tried > throttle.PerNeighbour.Free+3 {
		t.Errorf("%d of %d attempts were tried, want %d", tried, attempts, throttle.PerNeighbour.Free)
	}
}

func TestWeakHashIsReplaced(t *testing.T) {
	s := accountstest.StartedWithOwner(t) // with a cheap hash
	conn := dbtest.Owner(t, s.DB)
	*s.Hashes = *passwords.New(passwords.DefaultCost)
	var hashes []string
	for range 2 {
		if _, err := s.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, devices.Origin{Address: "192.0.2.1"}); err != nil {
			t.Fatal(err)
		}
		var hash string
		if err := conn.QueryRow(t.Context(), "SELECT password_hash FROM account").Scan(&hash); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, hash)
	}
	if !strings.HasPrefix(hashes[0], "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("the weak hash stayed: %s", hashes[0])
	}
	if hashes[1] != hashes[0] {
		t.Error("a hash that is not weak was replaced")
	}
}
