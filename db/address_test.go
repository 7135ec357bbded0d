package db

import "testing"

// PostgreSQL's programs get every host of an address and no password.
func TestAnAddressWithoutItsPassword(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://u:p@h/d": "postgres://u@h/d",
		"postgres://u:p%40x@one:5432,two:5433/d?sslmode=disable":       "postgres://u@one:5432,two:5433/d?sslmode=disable&target_session_attrs=read-write",
		"postgres://u:p@one,two/d?target_session_attrs=primary":        "postgres://u@one,two/d?target_session_attrs=primary",
		"postgresql://u@/d?host=/run/one,/run/two&password=p&port=1,2": "postgresql://u@/d?host=%2Frun%2Fone%2C%2Frun%2Ftwo&port=1%2C2&target_session_attrs=read-write",
		"postgres://[::1]:5432/d":                                      "postgres://[::1]:5432/d",
	} {
		l, ok := parseLocation(address)
		if got := l.withoutPassword(); !ok || got != want {
			t.Errorf("%s: %s (%t), want %s", address, got, ok, want)
		}
	}
}
