package replication_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/replication"
)

// An address that asks for the primary, as one of several hosts does, is good for replication too.
func TestTheAddressOfSeveralHostsIsGoodForReplication(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "fb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	server, err := db.StartEmbedded(t.Context(), filepath.Join(dir, "data"), slog.New(slog.DiscardHandler), "wal_level=replica", "max_wal_senders=2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	conn, err := replication.Connect(t.Context(), server.URL()+"&target_session_attrs=primary")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if is, err := conn.Identify(t.Context()); err != nil || is.ID == "" {
		t.Errorf("it names itself %+v (%v)", is, err)
	}
}
