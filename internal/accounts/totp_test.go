package accounts

import (
	"bytes"
	"errors"
	"image/png"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"fleetboard/db/dbtest"
	"fleetboard/db/vault"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
)

const testAddress = "192.0.2.1"

// factor is an account with a second factor, and an app that shows its codes.
type factor struct {
	setting
	who      tenancy.Principal
	secret   string
	recovery []string
}

// at sets the server's clock.
func (f *factor) at(now time.Time) { f.clock.at = func() time.Time { return now } }

// code is what the app shows at a moment.
func (f *factor) code(t *testing.T, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(f.secret, at)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

var noon = time.Date(2026, 3, 1, 12, 0, 7, 0, time.UTC)

// pending is an account that has a secret and has not confirmed it.
func pending(t *testing.T) *factor {
	t.Helper()
	s := startedWithOwner(t)
	f := &factor{setting: s, who: s.owner(t)}
	f.at(noon)
	if err := s.BeginSecondFactor(t.Context(), f.who, testPassword, testAddress); err != nil {
		t.Fatal(err)
	}
	shown, err := s.PendingSecondFactor(t.Context(), f.who)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(shown.PNG)); err != nil {
		t.Errorf("the QR code is no picture: %v", err)
	}
	f.secret = shown.Secret
	return f
}

// confirmed is an account with its second factor on, since noon.
func confirmed(t *testing.T) *factor {
	t.Helper()
	f := pending(t)
	codes, err := f.ConfirmSecondFactor(t.Context(), f.who, f.code(t, noon), testAddress)
	if err != nil {
		t.Fatal(err)
	}
	f.recovery = codes
	return f
}

func TestSecondFactorIsSetUp(t *testing.T) {
	f := pending(t)
	conn := dbtest.Owner(t, f.db)
	// Until it is confirmed nobody is asked for it.
	in, err := f.LogIn(t.Context(), testEmail, testPassword, at(testAddress))
	if err != nil || in.NeedsCode {
		t.Errorf("log in before the confirmation: %+v, %v", in, err)
	}
	_, err = f.ConfirmSecondFactor(t.Context(), f.who, "000000", testAddress)
	if r := refusal(t, err, fault.Validation); r.Fields["code"] == "" {
		t.Errorf("fields %v", r.Fields)
	}
	codes, err := f.ConfirmSecondFactor(t.Context(), f.who, f.code(t, noon), testAddress)
	if err != nil || len(codes) != 10 {
		t.Fatalf("codes %v, %v", codes, err)
	}
	if in, err = f.LogIn(t.Context(), testEmail, testPassword, at(testAddress)); err != nil || !in.NeedsCode {
		t.Errorf("log in afterwards: %+v, %v", in, err)
	}
	// The secret is seen once and replaced by nobody.
	_, err = f.PendingSecondFactor(t.Context(), f.who)
	wantFault(t, err, fault.NotFound)
	_, err = f.ConfirmSecondFactor(t.Context(), f.who, f.code(t, noon.Add(30*time.Second)), testAddress)
	wantFault(t, err, fault.NotFound)
	wantFault(t, f.BeginSecondFactor(t.Context(), f.who, testPassword, testAddress), fault.InvalidTransition)
	p, err := f.Profile(t.Context(), f.who)
	if err != nil || p.SecondFactorSince == nil || p.CodesLeft != 10 {
		t.Errorf("profile %+v, %v", p, err)
	}
	if n := events(t, conn, f.who, eventlog.SecondFactorOn, `{}`); n != 1 {
		t.Errorf("%d events", n)
	}
	// Neither the secret nor a recovery code lies in the database.
	for _, code := range codes {
		if n := count(t, conn, "SELECT count(*) FROM recovery_code WHERE position($1::bytea in code_hash) > 0", []byte(plainCode(code))); n != 0 {
			t.Error("a recovery code is stored as it is")
		}
	}
	if n := count(t, conn, "SELECT count(*) FROM account_totp WHERE length(sealed) > 40"); n != 1 {
		t.Error("the secret is not sealed")
	}
}

func TestSecondFactorBeginsWithThePassword(t *testing.T) {
	s := startedWithOwner(t)
	err := s.BeginSecondFactor(t.Context(), s.owner(t), "not the password", testAddress)
	if f := refusal(t, err, fault.Validation); f.Fields["current"] == "" {
		t.Errorf("fields %v", f.Fields)
	}
	_, err = s.PendingSecondFactor(t.Context(), s.owner(t))
	wantFault(t, err, fault.NotFound)
}

func TestPendingSecondFactorIsForgotten(t *testing.T) {
	f := pending(t)
	exec(t, dbtest.Owner(t, f.db), "UPDATE account_totp SET created_at = now() - interval '15 minutes'")
	_, err := f.ConfirmSecondFactor(t.Context(), f.who, f.code(t, noon), testAddress)
	wantFault(t, err, fault.NotFound)
}

// A code is good for its own half minute and its neighbours, and only once; after
// a later one an earlier one is over.
func TestCodesAreGoodOnce(t *testing.T) {
	f := confirmed(t)
	conn := dbtest.Owner(t, f.db)
	later := noon.Add(10 * time.Minute)
	f.at(later)
	for _, step := range []struct {
		name string
		code string
		ok   bool
	}{
		{"two steps early", f.code(t, later.Add(60*time.Second)), false},
		{"two steps late", f.code(t, later.Add(-60*time.Second)), false},
		{"one step late", f.code(t, later.Add(-30*time.Second)), true},
		{"the same again", f.code(t, later.Add(-30*time.Second)), false},
		{"now, with spaces", " " + f.code(t, later)[:3] + " " + f.code(t, later)[3:], true},
		{"the one before it", f.code(t, later.Add(-30*time.Second)), false},
		{"one step early", f.code(t, later.Add(30*time.Second)), true},
		{"now, after it", f.code(t, later), false},
		{"empty", "", false},
		{"letters", "abcdef", false},
	} {
		exec(t, conn, "DELETE FROM login_throttle")
		err := f.CheckCode(t.Context(), f.who.Account, step.code, at(testAddress))
		if step.ok && err != nil || !step.ok && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %v", step.name, err)
		}
	}
}

// The code that confirmed the second factor does not log in as well.
func TestConfirmingUsesTheCodeUp(t *testing.T) {
	f := confirmed(t)
	wantFault(t, f.CheckCode(t.Context(), f.who.Account, f.code(t, noon), at(testAddress)), fault.Unauthenticated)
}

func TestOneCodeSentTenTimesAtOnceIsTakenOnce(t *testing.T) {
	f := confirmed(t)
	later := noon.Add(time.Minute)
	f.at(later)
	for name, code := range map[string]string{"of the app": f.code(t, later), "for recovery": f.recovery[3]} {
		var wg sync.WaitGroup
		var mu sync.Mutex
		taken := 0
		for range 10 {
			wg.Go(func() {
				ok, err := f.useCode(t.Context(), f.who.Account, code)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if ok {
					taken++
				}
			})
		}
		wg.Wait()
		if taken != 1 {
			t.Errorf("the code %s was taken %d times", name, taken)
		}
	}
}

func TestRecoveryCodes(t *testing.T) {
	f := confirmed(t)
	check := func(code string) error { return f.CheckCode(t.Context(), f.who.Account, code, at(testAddress)) }
	if err := check(f.recovery[0]); err != nil {
		t.Fatal(err)
	}
	wantFault(t, check(f.recovery[0]), fault.Unauthenticated)
	if err := check(strings.ReplaceAll(f.recovery[1], "-", " ")); err != nil {
		t.Errorf("typed with spaces: %v", err)
	}
	if p, err := f.Profile(t.Context(), f.who); err != nil || p.CodesLeft != 8 {
		t.Errorf("%d codes are left, %v", p.CodesLeft, err)
	}
	_, err := f.NewRecoveryCodes(t.Context(), f.who, "not the password", testAddress)
	wantFault(t, err, fault.Validation)
	codes, err := f.NewRecoveryCodes(t.Context(), f.who, testPassword, testAddress)
	if err != nil || len(codes) != 10 {
		t.Fatalf("%v, %v", codes, err)
	}
	wantFault(t, check(f.recovery[2]), fault.Unauthenticated)
	if err := check(codes[0]); err != nil {
		t.Errorf("a new code: %v", err)
	}
}

func TestDropSecondFactor(t *testing.T) {
	f := confirmed(t)
	wantFault(t, f.DropSecondFactor(t.Context(), f.who, "not the password", testAddress), fault.Validation)
	for range 2 {
		if err := f.DropSecondFactor(t.Context(), f.who, testPassword, testAddress); err != nil {
			t.Fatal(err)
		}
	}
	in, err := f.LogIn(t.Context(), testEmail, testPassword, at(testAddress))
	if err != nil || in.NeedsCode {
		t.Errorf("log in: %+v, %v", in, err)
	}
	wantFault(t, f.CheckCode(t.Context(), f.who.Account, f.recovery[0], at(testAddress)), fault.Unauthenticated)
	_, err = f.NewRecoveryCodes(t.Context(), f.who, testPassword, testAddress)
	wantFault(t, err, fault.InvalidTransition)
	if n := events(t, dbtest.Owner(t, f.db), f.who, eventlog.SecondFactorOff, `{}`); n != 1 {
		t.Errorf("%d events, want one: it was off the second time", n)
	}
}

// A sealed secret that was moved to another account, or changed, opens nothing.
func TestSecretIsBoundToItsAccount(t *testing.T) {
	f := confirmed(t)
	conn := dbtest.Owner(t, f.db)
	eve := another(t, conn)
	exec(t, conn, "INSERT INTO account_totp (account_id, sealed, confirmed_at) SELECT $1, sealed, now() FROM account_totp", eve.Account)
	later := noon.Add(time.Minute)
	f.at(later)
	if ok, err := f.useCode(t.Context(), eve.Account, f.code(t, later)); ok || err == nil {
		t.Errorf("moved: %v, %v", ok, err)
	}
	exec(t, conn, "UPDATE account_totp SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1)")
	if ok, err := f.useCode(t.Context(), f.who.Account, f.code(t, later)); ok || err == nil {
		t.Errorf("changed: %v, %v", ok, err)
	}
}

// changed is a process with another key of the server, on the same database and
// with the same clock.
func (f *factor) changed(key byte, earlier ...[]byte) *Service {
	return serviceOf(f.db, f.clock, testKey(key), earlier...)
}

// The server's key is changed. While the earlier one is given as well, codes are
// taken; after one that was taken the earlier key is not needed any more, and
// without it, before, nothing is taken but a recovery code.
func TestTheServersKeyChanges(t *testing.T) {
	for name, code := range map[string]func(f *factor) string{
		"a code":          func(f *factor) string { return f.code(t, f.clock.now()) },
		"a recovery code": func(f *factor) string { return f.recovery[0] },
	} {
		t.Run(name, func(t *testing.T) {
			f := confirmed(t)
			f.at(noon.Add(time.Minute))
			check := func(s *Service, code string) error {
				return s.CheckCode(t.Context(), f.who.Account, code, at(testAddress))
			}
			alone, both := f.changed(8), f.changed(8, testKey(7))
			if err := check(alone, f.code(t, f.clock.now())); !errors.Is(err, vault.ErrRefused) {
				t.Errorf("with the new key alone, before: %v", err)
			}
			wantFault(t, check(both, "000000"), fault.Unauthenticated)
			if err := check(alone, f.code(t, f.clock.now())); !errors.Is(err, vault.ErrRefused) {
				t.Errorf("after a wrong code: %v", err)
			}
			if err := check(both, code(f)); err != nil {
				t.Fatalf("with both keys: %v", err)
			}
			later := noon.Add(2 * time.Minute)
			f.at(later)
			if err := check(alone, f.code(t, later)); err != nil {
				t.Errorf("with the new key alone, afterwards: %v", err)
			}
			wantFault(t, check(alone, f.code(t, later)), fault.Unauthenticated)
			f.at(noon.Add(3 * time.Minute))
			if err := check(f.Service, f.code(t, f.clock.now())); !errors.Is(err, vault.ErrRefused) {
				t.Errorf("the earlier key still opens it: %v", err)
			}
		})
	}
}

// The key is changed between the picture and its first code.
func TestTheServersKeyChangesBeforeTheFirstCode(t *testing.T) {
	f := pending(t)
	both := f.changed(8, testKey(7))
	if shown, err := both.PendingSecondFactor(t.Context(), f.who); err != nil || shown.Secret != f.secret {
		t.Fatalf("the secret is %q, %v", shown.Secret, err)
	}
	if _, err := both.ConfirmSecondFactor(t.Context(), f.who, f.code(t, noon), testAddress); err != nil {
		t.Fatal(err)
	}
	f.at(noon.Add(time.Minute))
	if err := f.changed(8).CheckCode(t.Context(), f.who.Account, f.code(t, f.clock.now()), at(testAddress)); err != nil {
		t.Errorf("with the new key alone: %v", err)
	}
}

// Where the earlier key is lost a recovery code still lets its owner in, who turns
// the second factor off with the password.
func TestTheServersKeyIsLost(t *testing.T) {
	f := confirmed(t)
	other := f.changed(8)
	if err := other.CheckCode(t.Context(), f.who.Account, f.recovery[0], at(testAddress)); err != nil {
		t.Errorf("a recovery code: %v", err)
	}
	if err := other.DropSecondFactor(t.Context(), f.who, testPassword, testAddress); err != nil {
		t.Errorf("turn it off: %v", err)
	}
}
