package accounts

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
)

func TestLogIn(t *testing.T) {
	s := startedWithOwner(t)
	account, err := s.LogIn(t.Context(), "  ADA@example.org ", testPassword, Origin{Address: "192.0.2.1"})
	if err != nil {
		t.Fatalf("right password: %v", err)
	}
	if account.Email != testEmail || account.Name != ownerName {
		t.Errorf("account = %+v", account)
	}

	wrong := map[string][2]string{
		"wrong password":  {testEmail, "not the password"},
		"unknown e-mail":  {"bob@example.org", testPassword},
		"empty password":  {testEmail, ""},
		"long password":   {testEmail, strings.Repeat("x", 5000)},
		"NUL in e-mail":   {"ada\x00@example.org", testPassword},
		"broken encoding": {"ada\xff@example.org", testPassword},
	}
	for name, in := range wrong {
		_, err := s.LogIn(t.Context(), in[0], in[1], Origin{Address: "192.0.2.1"})
		f := refusal(t, err, fault.Unauthenticated)
		if f.Message != wrongLogin {
			t.Errorf("%s: message %q tells more than %q", name, f.Message, wrongLogin)
		}
	}
}

func TestLogInWithoutPassword(t *testing.T) {
	s := started(t)
	for _, password := range []string{"", " ", testPassword} {
		_, err := s.LogIn(t.Context(), ownerEmail, password, Origin{Address: "192.0.2.1"})
		wantFault(t, err, fault.Unauthenticated)
	}
}

func TestLogInThrottledByAddress(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	_, err := s.LogIn(t.Context(), "nobody@example.org", testPassword, Origin{Address: "2001:db8::1"})
	wantFault(t, err, fault.Unauthenticated)
	// Far enough that a slow hash does not outlast the wait.
	exec(t, conn, "UPDATE login_throttle SET failures = $1, last_failed_at = now()", perNetwork.free+9)

	// The same network with another name and another host in it.
	_, err = s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: "2001:db8::2"})
	wantFault(t, err, fault.TooMany)
	if _, err := s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: "2001:db8:1::1"}); err != nil {
		t.Errorf("another network: %v", err)
	}
}

// Attempts made at one moment must not all count as the first one.
func TestLogInThrottleHoldsAtOnce(t *testing.T) {
	s := startedWithOwner(t)
	const attempts = 20
	var wg sync.WaitGroup
	results := make(chan error, attempts)
	for range attempts {
		wg.Go(func() {
			_, err := s.LogIn(t.Context(), testEmail, "wrong password", Origin{Address: "192.0.2.1"})
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
	if tried < int(perNeighbour.free) || tried > int(perNeighbour.free)+3 {
		t.Errorf("%d of %d attempts were tried, want %d", tried, attempts, int(perNeighbour.free))
	}
}

// What the server makes costs what the standards ask for.
func TestCostOfAHash(t *testing.T) {
	s := New(nil, testKey(7), nil, slog.New(slog.DiscardHandler))
	encoded, err := s.loginService.passwords.hash(t.Context(), asker{}, testPassword)
	if err != nil || !strings.HasPrefix(encoded, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("%s, %v", encoded, err)
	}
	if !strings.HasPrefix(s.loginService.passwords.nobody, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("for nobody: %s", s.loginService.passwords.nobody)
	}
	if ok, weak, err := s.loginService.passwords.check(t.Context(), asker{}, encoded, testPassword); !ok || weak || err != nil {
		t.Errorf("fits %v, weak %v, %v", ok, weak, err)
	}
}

func TestWeakHashIsReplaced(t *testing.T) {
	s := startedWithOwner(t) // with a cheap hash
	conn := dbtest.Owner(t, s.db)
	*s.loginService.passwords = *newPasswords(hashCost)
	var hashes []string
	for range 2 {
		if _, err := s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: "192.0.2.1"}); err != nil {
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

func TestPasswordsWaitForTheirTurn(t *testing.T) {
	p := newPasswords(hashCost)
	p.fill()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// Also for an account that is not there: its answer costs a hash as well.
	for _, stored := range []string{"", p.nobody} {
		if _, _, err := p.check(ctx, asker{}, stored, testPassword); !errors.Is(err, context.Canceled) {
			t.Errorf("check(%q) = %v, want it to wait for the gate", stored, err)
		}
	}
}

func TestDamagedHashIsAnError(t *testing.T) {
	p := newPasswords(hashCost)
	sum := strings.Repeat("A", 43) // 32 bytes
	if _, _, err := p.check(t.Context(), asker{}, "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$"+sum, testPassword); err != nil {
		t.Fatalf("the model of the damage is refused itself: %v", err)
	}
	for _, stored := range []string{
		"plain", "$argon2i$v=19$m=8,t=1,p=1$c2FsdA$" + sum, "$argon2id$v=16$m=8,t=1,p=1$c2FsdA$" + sum,
		"$argon2id$v=19$m=8,t=0,p=1$c2FsdA$" + sum, "$argon2id$v=19$m=8,t=1,p=0$c2FsdA$" + sum,
		"$argon2id$v=19$m=8$c2FsdA$" + sum, "$argon2id$v=19$m=8,t=1,p=1$!!$" + sum, "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$c3Vt",
	} {
		if ok, _, err := p.check(t.Context(), asker{}, stored, testPassword); ok || err == nil {
			t.Errorf("check(%q) = %v, %v", stored, ok, err)
		}
	}
}

func TestNetwork(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.7":         "192.0.2.7",
		"::ffff:192.0.2.7":  "192.0.2.7",
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64",
		"fe80::1%eth0":      "fe80::/64",
		"":                  "unknown",
		"not an address":    "unknown",
	} {
		if got := network(in); got != want {
			t.Errorf("network(%q) = %q, want %q", in, got, want)
		}
	}
}
