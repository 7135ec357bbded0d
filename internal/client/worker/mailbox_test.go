package worker

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
)

// A payload that the server keeps as a blob is shown as if the message carried it; what is
// no payload, or cannot be read, keeps its name.
func TestALargePayloadIsShown(t *testing.T) {
	kept := map[string]string{"a": `{"text":"` + strings.Repeat("x", 100<<10) + `"}`, "b": "no JSON",
		"c": `{"text":"` + strings.Repeat("x", maxPayload) + `"}`}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		content, ok := kept[strings.TrimPrefix(r.URL.Path, "/api/v1/blobs/")]
		if !ok {
			rw.WriteHeader(http.StatusNotFound)
		}
		_, _ = rw.Write([]byte(content))
	}))
	t.Cleanup(server.Close)
	connection, err := client.New(server.URL, "token", api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	box := mailbox{w: &Worker{api: connection, Options: Options{Log: slog.New(slog.DiscardHandler)}}}
	got := box.shown(t.Context(), []api.Message{{Blob: "a"}, {Blob: "b"}, {Blob: "c"}, {Blob: "d"}})
	if string(got[0].Payload) != kept["a"] || got[0].Blob != "" {
		t.Errorf("the first has %d bytes and the blob %q", len(got[0].Payload), got[0].Blob)
	}
	for i, name := range []string{"b", "c", "d"} {
		if m := got[i+1]; m.Blob != name || m.Payload != nil {
			t.Errorf("%s is shown as %q and %d bytes", name, m.Blob, len(m.Payload))
		}
	}
}
