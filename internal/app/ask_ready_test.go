package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAServerSaysThatItIsReady(t *testing.T) {
	ask := func(address string) error {
		return AskReady(t.Context(), []string{"FLEETBOARD_DATA_DIR=" + t.TempDir(),
			"FLEETBOARD_LISTEN=" + strings.TrimPrefix(address, "http://")})
	}
	if err := ask(started(t, nil).URL()); err != nil {
		t.Error(err)
	}
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer busy.Close()
	if err := ask(busy.URL); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("of a server that is not ready it says %v", err)
	}
}
