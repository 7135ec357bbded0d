package e2e

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// The server's secret key is changed: started once with both keys it can read all
// secrets, and afterwards with the new key alone. With any other key it says so,
// and gives nothing wrong.
func TestTheServersSecretKeyIsChanged(t *testing.T) {
	t.Parallel()
	url, dir := dbtest.URL(t), t.TempDir()
	key := func(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)) }
	s := start(t, dir, "DATABASE_URL="+url, "FLEETBOARD_ADMIN_EMAIL="+ownerEmail, "FLEETBOARD_ADMIN_PASSWORD="+ownerPassword,
		"FLEETBOARD_SECRET_KEY="+key(1))
	for range 3 {
		made, err := s.owner().CreateJobWithResponse(t.Context(), nil, api.NewJob{Title: "a", SecretKeys: &[]string{"TOKEN"},
			InputContext: []byte(`{"TOKEN":"kept"}`)})
		if err != nil || made.StatusCode() != http.StatusCreated {
			t.Fatalf("submit: %v %s", err, made.Body)
		}
	}
	claim := func(want int) {
		t.Helper()
		got, err := s.agent("claude-1").ClaimJobsWithResponse(t.Context(), api.ClaimJobsJSONRequestBody{})
		if err != nil || got.StatusCode() != want || want == http.StatusOK && !strings.Contains(string(got.Body), `"TOKEN":"kept"`) {
			t.Errorf("claim: %d, want %d; %v %s", got.StatusCode(), want, err, got.Body)
		}
	}
	restart := func(env ...string) {
		t.Helper()
		s.stop()
		s.env = append(s.env, env...)
		s.launch()
	}
	claim(http.StatusOK)
	restart("FLEETBOARD_SECRET_KEY=" + key(2))
	claim(http.StatusServiceUnavailable)
	if !strings.Contains(s.logs.String(), "set FLEETBOARD_PREVIOUS_SECRET_KEY") {
		t.Error("the log does not say what to do")
	}
	restart("FLEETBOARD_PREVIOUS_SECRET_KEY=" + key(1))
	claim(http.StatusOK)
	restart("FLEETBOARD_PREVIOUS_SECRET_KEY=")
	claim(http.StatusOK)
	if strings.Contains(s.logs.String(), key(1)) || strings.Contains(s.logs.String(), key(2)) {
		t.Error("the log tells a key")
	}
}
