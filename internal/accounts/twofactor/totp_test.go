package twofactor_test

import (
	"bytes"
	"errors"
	"image/png"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/accounts"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/twofactor"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// factor is an account with a second factor, and an app that shows its codes.
type factor struct {
	accountstest.Setting
	who      tenancy.Principal
	secret   string
	recovery []string
}

// From sets the server's clock.
func (f *factor) at(now time.Time) { f.Clock.At = func() time.Time { return now } }

// code returns what the app shows at a moment.
func (f *factor) code(t *testing.T, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(f.secret, at)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

var noon = time.Date(2026, 3, 1, 12, 0, 7, 0, time.UTC)

// pending returns an account that has a secret and has not confirmed it.
func pending(t *testing.T) *factor {
	t.Helper()
	s := accountstest.StartedWithOwner(t)
	f := &factor{Setting: s, who: s.Owner(t)}
	f.at(noon)
	if err := s.SecondFactors.Begin(t.Context(), f.who, accountstest.Password, accountstest.Address); err != nil {
		t.Fatal(err)
	}
	shown, err := s.SecondFactors.Pending(t.Context(), f.who)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(shown.PNG)); err != nil {
		t.Errorf("the QR code is no picture: %v", err)
	}
	f.secret = shown.Secret
	return f
}

// confirmed returns an account with its second factor on, since noon.
func confirmed(t *testing.T) *factor {
	t.Helper()
	f := pending(t)
	codes, err := f.SecondFactors.Confirm(t.Context(), f.who, f.code(t, noon), accountstest.Address)
	if err != nil {
		t.Fatal(err)
	}
	f.recovery = codes
	return f
}

func TestSecondFactorIsSetUp(t *testing.T) {
	f := pending(t)
	conn := dbtest.Owner(t, f.DB)
	// Until it is confirmed no log in requires it.
	in, err := f.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From(accountstest.Address))
	if err != nil || in.NeedsCode {
		t.Errorf("log in before the confirmation: %+v, %v", in, err)
	}
	_, err = f.SecondFactors.Confirm(t.Context(), f.who, "000000", accountstest.Address)
	if r := accountstest.Refusal(t, err, fault.Validation); r.Fields["code"] == "" {
		t.Errorf("fields %v", r.Fields)
	}
	codes, err := f.SecondFactors.Confirm(t.Context(), f.who, f.code(t, noon), accountstest.Address)
	if err != nil || len(codes) != 10 {
		t.Fatalf("codes %v, %v", codes, err)
	}
	if in, err = f.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From(accountstest.Address)); err != nil || !in.NeedsCode {
		t.Errorf("log in afterwards: %+v, %v", in, err)
	}
	// The secret is seen once and replaced by nobody.
	_, err = f.SecondFactors.Pending(t.Context(), f.who)
	accountstest.WantFault(t, err, fault.NotFound)
	_, err = f.SecondFactors.Confirm(t.Context(), f.who, f.code(t, noon.Add(30*time.Second)), accountstest.Address)
	accountstest.WantFault(t, err, fault.NotFound)
	accountstest.WantFault(t, f.SecondFactors.Begin(t.Context(), f.who, accountstest.Password, accountstest.Address), fault.InvalidTransition)
	p, err := f.People.Profile(t.Context(), f.who)
	if err != nil || p.SecondFactorSince == nil || p.CodesLeft != 10 {
		t.Errorf("profile %+v, %v", p, err)
	}
	if n := dbfactory.EventsBy(t, conn, f.who, string(eventlog.SecondFactorOn), `{}`); n != 1 {
		t.Errorf("%d events", n)
	}
	// Neither the secret nor a recovery code lies in the database.
	for _, code := range codes {
		if n := accountstest.Count(t, conn, "SELECT count(*) FROM recovery_code WHERE position($1::bytea in code_hash) > 0", []byte(twofactor.PlainCode(code))); n != 0 {
			t.Error("a recovery code is stored as it is")
		}
	}
	if n := accountstest.Count(t, conn, "SELECT count(*) FROM account_totp WHERE length(sealed) > 40"); n != 1 {
		t.Error("the secret is not sealed")
	}
}

func TestSecondFactorBeginsWithThePassword(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	err := s.SecondFactors.Begin(t.Context(), s.Owner(t), "not the password", accountstest.Address)
	if f := accountstest.Refusal(t, err, fault.Validation); f.Fields["current"] == "" {
		t.Errorf("fields %v", f.Fields)
	}
	_, err = s.SecondFactors.Pending(t.Context(), s.Owner(t))
	accountstest.WantFault(t, err, fault.NotFound)
}

func TestPendingSecondFactorIsForgotten(t *testing.T) {
	f := pending(t)
	accountstest.Exec(t, dbtest.Owner(t, f.DB), "UPDATE account_totp SET created_at = now() - interval '15 minutes'")
	_, err := f.SecondFactors.Confirm(t.Context(), f.who, f.code(t, noon), accountstest.Address)
	accountstest.WantFault(t, err, fault.NotFound)
}

// A code is good for its own half minute and its neighbours, and only once; after
// a later one an earlier one is over.
func TestCodesAreGoodOnce(t *testing.T) {
	f := confirmed(t)
	conn := dbtest.Owner(t, f.DB)
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
		accountstest.Exec(t, conn, "DELETE FROM login_throttle")
		err := f.SecondFactors.CheckCode(t.Context(), f.who.Account, step.code, accountstest.From(accountstest.Address))
		if step.ok && err != nil || !step.ok && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: %v", step.name, err)
		}
	}
}

// The code that confirmed the second factor does not log in as well.
func TestConfirmingUsesTheCodeUp(t *testing.T) {
	f := confirmed(t)
	accountstest.WantFault(t, f.SecondFactors.CheckCode(t.Context(), f.who.Account, f.code(t, noon), accountstest.From(accountstest.Address)), fault.Unauthenticated)
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
				ok, err := f.SecondFactors.UseCode(t.Context(), f.who.Account, code)
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
	check := func(code string) error {
		return f.SecondFactors.CheckCode(t.Context(), f.who.Account, code, accountstest.From(accountstest.Address))
	}
	if err := check(f.recovery[0]); err != nil {
		t.Fatal(err)
	}
	accountstest.WantFault(t, check(f.recovery[0]), fault.Unauthenticated)
	if err := check(strings.ReplaceAll(f.recovery[1], "-", " ")); err != nil {
		t.Errorf("typed with spaces: %v", err)
	}
	if p, err := f.People.Profile(t.Context(), f.who); err != nil || p.CodesLeft != 8 {
		t.Errorf("%d codes are left, %v", p.CodesLeft, err)
	}
	_, err := f.SecondFactors.NewRecoveryCodes(t.Context(), f.who, "not the password", accountstest.Address)
	accountstest.WantFault(t, err, fault.Validation)
	codes, err := f.SecondFactors.NewRecoveryCodes(t.Context(), f.who, accountstest.Password, accountstest.Address)
	if err != nil || len(codes) != 10 {
		t.Fatalf("%v, %v", codes, err)
	}
	accountstest.WantFault(t, check(f.recovery[2]), fault.Unauthenticated)
	if err := check(codes[0]); err != nil {
		t.Errorf("a new code: %v", err)
	}
}

func TestDropSecondFactor(t *testing.T) {
	f := confirmed(t)
	accountstest.WantFault(t, f.SecondFactors.Drop(t.Context(), f.who, "not the password", accountstest.Address), fault.Validation)
	for range 2 {
		if err := f.SecondFactors.Drop(t.Context(), f.who, accountstest.Password, accountstest.Address); err != nil {
			t.Fatal(err)
		}
	}
	in, err := f.LogIns.LogIn(t.Context(), accountstest.Email, accountstest.Password, accountstest.From(accountstest.Address))
	if err != nil || in.NeedsCode {
		t.Errorf("log in: %+v, %v", in, err)
	}
	accountstest.WantFault(t, f.SecondFactors.CheckCode(t.Context(), f.who.Account, f.recovery[0], accountstest.From(accountstest.Address)), fault.Unauthenticated)
	_, err = f.SecondFactors.NewRecoveryCodes(t.Context(), f.who, accountstest.Password, accountstest.Address)
	accountstest.WantFault(t, err, fault.InvalidTransition)
	if n := dbfactory.EventsBy(t, dbtest.Owner(t, f.DB), f.who, string(eventlog.SecondFactorOff), `{}`); n != 1 {
		t.Errorf("%d events, want one: it was off the second time", n)
	}
}

// A sealed secret that was moved to another account, or changed, opens nothing.
func TestSecretIsBoundToItsAccount(t *testing.T) {
	f := confirmed(t)
	conn := dbtest.Owner(t, f.DB)
	eve := dbfactory.Foreigner(t, conn)
	accountstest.Exec(t, conn, "INSERT INTO account_totp (account_id, sealed, confirmed_at) SELECT $1, sealed, now() FROM account_totp", eve.Account)
	later := noon.Add(time.Minute)
	f.at(later)
	if ok, err := f.SecondFactors.UseCode(t.Context(), eve.Account, f.code(t, later)); ok || err == nil {
		t.Errorf("moved: %v, %v", ok, err)
	}
	accountstest.Exec(t, conn, "UPDATE account_totp SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1)")
	if ok, err := f.SecondFactors.UseCode(t.Context(), f.who.Account, f.code(t, later)); ok || err == nil {
		t.Errorf("changed: %v, %v", ok, err)
	}
}

// changed returns a process with another key of the server, on the same database and
// with the same clock.
func (f *factor) changed(key byte, earlier ...[]byte) *accounts.Parts {
	return accountstest.NewServiceWith(f.DB, f.Clock, accountstest.Key(key), earlier...)
}

// The server's key is changed. While the earlier one is given as well, codes are
// taken; after one that was taken the earlier key is not needed any more, and
// without it, before, nothing is taken but a recovery code.
func TestTheServersKeyChanges(t *testing.T) {
	for name, code := range map[string]func(f *factor) string{
		"a code":          func(f *factor) string { return f.code(t, f.Clock.Now()) },
		"a recovery code": func(f *factor) string { return f.recovery[0] },
	} {
		t.Run(name, func(t *testing.T) {
			f := confirmed(t)
			f.at(noon.Add(time.Minute))
			check := func(s *accounts.Parts, code string) error {
				return s.SecondFactors.CheckCode(t.Context(), f.who.Account, code, accountstest.From(accountstest.Address))
			}
			alone, both := f.changed(8), f.changed(8, accountstest.Key(7))
			if err := check(alone, f.code(t, f.Clock.Now())); !errors.Is(err, vault.ErrRefused) {
				t.Errorf("with the new key alone, before: %v", err)
			}
			accountstest.WantFault(t, check(both, "000000"), fault.Unauthenticated)
			if err := check(alone, f.code(t, f.Clock.Now())); !errors.Is(err, vault.ErrRefused) {
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
			accountstest.WantFault(t, check(alone, f.code(t, later)), fault.Unauthenticated)
			f.at(noon.Add(3 * time.Minute))
			if err := check(f.Parts, f.code(t, f.Clock.Now())); !errors.Is(err, vault.ErrRefused) {
				t.Errorf("the earlier key still opens it: %v", err)
			}
		})
	}
}

// The key is changed between the picture and its first code.
func TestTheServersKeyChangesBeforeTheFirstCode(t *testing.T) {
	f := pending(t)
	both := f.changed(8, accountstest.Key(7))
	if shown, err := both.SecondFactors.Pending(t.Context(), f.who); err != nil || shown.Secret != f.secret {
		t.Fatalf("the secret is %q, %v", shown.Secret, err)
	}
	if _, err := both.SecondFactors.Confirm(t.Context(), f.who, f.code(t, noon), accountstest.Address); err != nil {
		t.Fatal(err)
	}
	f.at(noon.Add(time.Minute))
	if err := f.changed(8).SecondFactors.CheckCode(t.Context(), f.who.Account, f.code(t, f.Clock.Now()), accountstest.From(accountstest.Address)); err != nil {
		t.Errorf("with the new key alone: %v", err)
	}
}

// Where the earlier key is lost a recovery code still lets its owner in, who turns
// the second factor off with the password.
func TestTheServersKeyIsLost(t *testing.T) {
	f := confirmed(t)
	other := f.changed(8)
	if err := other.SecondFactors.CheckCode(t.Context(), f.who.Account, f.recovery[0], accountstest.From(accountstest.Address)); err != nil {
		t.Errorf("a recovery code: %v", err)
	}
	if err := other.SecondFactors.Drop(t.Context(), f.who, accountstest.Password, accountstest.Address); err != nil {
		t.Errorf("turn it off: %v", err)
	}
}
