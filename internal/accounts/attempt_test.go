package accounts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fleetboard/db/dbtest"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

func at(addr string) Origin { return Origin{Address: addr} }

// Wrong passwords from one network make that network wait, with every next one
// longer, and nobody else.
func TestWrongPasswordsHoldUpTheirNetwork(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	const enemy, home = "192.0.2.1", "192.0.2.6"
	for range perNeighbour.free {
		_, err := s.LogIn(t.Context(), testEmail, "wrong password", at(enemy))
		wantFault(t, err, fault.Unauthenticated)
	}
	neighbour := s.loginService.throttle.attemptAt(logInPassword, testEmail, enemy)[1].subject
	for _, c := range []struct{ failures, least, most int }{{5, 1, 1}, {9, 15, 16}, {5000, 899, 900}} {
		exec(t, conn, "UPDATE login_throttle SET failures = $1, last_failed_at = now() WHERE subject = $2", c.failures, neighbour)
		_, err := s.LogIn(t.Context(), testEmail, testPassword, at(enemy))
		if wait := refusal(t, err, fault.TooMany).Details["retry_after"].(int); wait < c.least || wait > c.most {
			t.Errorf("after %d failures: wait %d s", c.failures, wait)
		}
	}
	if _, err := s.LogIn(t.Context(), testEmail, testPassword, at(home)); err != nil {
		t.Errorf("the owner elsewhere: %v", err)
	}
	// When the wait is over the right password works and clears the count.
	exec(t, conn, "UPDATE login_throttle SET last_failed_at = now() - interval '15 minutes'")
	if _, err := s.LogIn(t.Context(), testEmail, testPassword, at(enemy)); err != nil {
		t.Fatalf("after the wait: %v", err)
	}
	if n := count(t, conn, "SELECT count(*) FROM login_throttle WHERE subject = $1", neighbour); n != 0 {
		t.Error("the count stays after a right password")
	}
}

// Wrong passwords from very many networks make strangers wait a little, and the
// account's own browser not at all. It is known until the password changes.
func TestAKnownDevicePassesTheSoftCap(t *testing.T) {
	s := startedWithOwner(t)
	conn := dbtest.Owner(t, s.db)
	const here = "192.0.2.1"
	in, err := s.LogIn(t.Context(), testEmail, testPassword, at(here))
	if err != nil {
		t.Fatal(err)
	}
	known := Origin{Address: here, Devices: s.KnowDevice("", in.ID, in.Epoch)}
	storm := func() {
		for _, throttle := range s.loginService.throttle.attemptAt(logInPassword, testEmail, here) {
			exec(t, conn, "INSERT INTO login_throttle VALUES ($1, 5000, now()) ON CONFLICT (subject) DO UPDATE SET failures = 5000, last_failed_at = now()", throttle.subject)
		}
	}
	storm()
	_, err = s.LogIn(t.Context(), testEmail, testPassword, at("203.0.113.1"))
	if wait := refusal(t, err, fault.TooMany).Details["retry_after"].(int); wait < 50 || wait > 60 {
		t.Errorf("a stranger waits %d s", wait)
	}
	if _, err := s.LogIn(t.Context(), testEmail, testPassword, known); err != nil {
		t.Errorf("the known device: %v", err)
	}
	// It is counted by itself.
	for range perDevice.free {
		_, err := s.LogIn(t.Context(), testEmail, "wrong password", known)
		wantFault(t, err, fault.Unauthenticated)
	}
	exec(t, conn, "UPDATE login_throttle SET last_failed_at = now()")
	_, err = s.LogIn(t.Context(), testEmail, testPassword, known)
	wantFault(t, err, fault.TooMany)

	for name, devices := range map[string]string{
		"another account's": s.KnowDevice("", ids.New(), in.Epoch), "one of before": s.KnowDevice("", in.ID, in.Epoch-1),
		"a forged one": known.Devices[:10] + "A" + known.Devices[11:], "junk": strings.Repeat("x.", 5000),
	} {
		storm()
		_, err := s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: "203.0.113.1", Devices: devices})
		if !fault.Is(err, fault.TooMany) {
			t.Errorf("%s passes: %v", name, err)
		}
	}
	s.clock.at = func() time.Time { return time.Now().Add(DeviceLife + time.Minute) }
	if _, ok := s.devices.knownDevice(known.Devices, in.ID, in.Epoch); ok {
		t.Error("it is known for ever")
	}
	s.clock.at = time.Now
	if err := s.EndAllSessions(t.Context(), s.owner(t)); err != nil {
		t.Fatal(err)
	}
	_, err = s.LogIn(t.Context(), testEmail, testPassword, Origin{Address: "203.0.113.1", Devices: known.Devices})
	wantFault(t, err, fault.TooMany)
}

// One browser is known for several accounts, each by a word of its own.
func TestABrowserOfSeveralPeople(t *testing.T) {
	s := startedWithOwner(t)
	devices, people := "", []ids.ID{}
	for range maxDevices + 1 {
		people = append(people, ids.New())
		devices = s.KnowDevice(devices, people[len(people)-1], 1)
	}
	again := s.KnowDevice(devices, people[2], 2)
	for i, id := range people {
		_, ok := s.devices.knownDevice(devices, id, 1)
		if want := i > 0; ok != want {
			t.Errorf("person %d: known %t, want %t", i, ok, want)
		}
	}
	before, _ := s.devices.knownDevice(devices, people[2], 1)
	if after, ok := s.devices.knownDevice(again, people[2], 2); !ok || after != before {
		t.Error("the browser got another name")
	}
	if len(again) > 500 {
		t.Errorf("the cookie has %d bytes", len(again))
	}
}

// The second step has the same limits: who knows the password, and guesses at
// codes, does not keep the account's own browser out.
func TestCodesAreThrottledLikewise(t *testing.T) {
	f := confirmed(t)
	conn := dbtest.Owner(t, f.db)
	later := noon.Add(time.Minute)
	f.at(later)
	in, err := f.LogIn(t.Context(), testEmail, testPassword, at(testAddress))
	if err != nil {
		t.Fatal(err)
	}
	const enemy = "192.0.2.77"
	for range perNeighbour.free {
		wantFault(t, f.CheckCode(t.Context(), in.ID, "000000", at(enemy)), fault.Unauthenticated)
	}
	exec(t, conn, "UPDATE login_throttle SET last_failed_at = now()")
	wantFault(t, f.CheckCode(t.Context(), in.ID, "00000-00000-00000-00000", at(enemy)), fault.TooMany)
	exec(t, conn, "UPDATE login_throttle SET failures = 5000, last_failed_at = now()")
	code := f.code(t, later)
	wantFault(t, f.CheckCode(t.Context(), in.ID, code, at("203.0.113.1")), fault.TooMany)
	if err := f.CheckCode(t.Context(), in.ID, code, Origin{Address: enemy, Devices: f.KnowDevice("", in.ID, in.Epoch)}); err != nil {
		t.Errorf("the known device: %v", err)
	}
}

// However many wait from one site, the first of another waits for one of them.
func TestHashesAreMadeInTurns(t *testing.T) {
	q := newHashQueue()
	q.busy, q.took = hashesAtOnce, time.Second
	enemy, home := stranger("192.0.2.1"), stranger("198.51.100.1")
	for i := range 11 { // all of one site, by whatever address
		q.crowd(stranger(fmt.Sprintf("192.0.2.%d", i+2)), 1)
	}
	wantFault(t, q.room(enemy), fault.Unavailable)
	if err := q.room(home); err != nil {
		t.Errorf("another site: %v", err)
	}
	mine := make(chan struct{})
	q.lineOf(home).push(home.name, mine)
	first, second := make(chan struct{}), make(chan struct{})
	for _, turn := range []chan struct{}{first, second} {
		q.lineOf(asker{known: true}).push("session", turn)
	}
	called := func(turn chan struct{}) bool {
		select {
		case <-turn:
			return true
		default:
			return false
		}
	}
	for n, want := range [][3]bool{{true, false, false}, {true, true, false}, {true, true, false}, {true, true, true}} {
		q.leave(time.Now())
		if got := [3]bool{called(first), called(second), called(mine)}; got != want {
			t.Errorf("after %d turns: %v, want %v", n+1, got, want)
		}
	}
	for q.strangers.waiting > 0 {
		q.leave(time.Now())
	}
	if len(q.strangers.of) != 0 || len(q.strangers.order) != 0 {
		t.Errorf("%v stays of who has gone", q.strangers.order)
	}
}
