package accountstest

import (
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// SessionData returns a session as scs writes it.
func SessionData(t *testing.T, values map[string]any) []byte {
	t.Helper()
	data, err := scs.GobCodec{}.Encode(time.Now().Add(time.Hour), values)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Begun commits a session of an account under a token.
func (s Setting) Begun(t *testing.T, token string, account ids.ID, values map[string]any) {
	t.Helper()
	all := map[string]any{sessions.Account: account.String(), sessions.UserAgent: "agent of " + token}
	for name, value := range values {
		all[name] = value
	}
	if err := sessions.NewStore(s.DB).Commit(token, SessionData(t, all), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
}

// Opens reports whether the session of a token is live.
func (s Setting) Opens(t *testing.T, token string) bool {
	t.Helper()
	_, found, err := sessions.NewStore(s.DB).Find(token)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
