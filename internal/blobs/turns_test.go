package blobs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// A transfer takes a turn for some pieces at a time: it stands still while its caller has
// none, goes on afterwards, and keeps nobody else waiting.
func TestTransfersTakeTurns(t *testing.T) {
	f, turns := setup(t), quota.NewTurns(2)
	f.Service = process(f.DB, blobs.Options{Turns: turns})
	ada := dbfactory.Person(f.Owner.Workspace, tenancy.RoleOwner)
	bob := dbfactory.Person(f.Owner.Workspace, tenancy.RoleOwner)
	stored := f.put(bob, bytesOf(1, 3<<20))
	turns.See(bob)
	turns.See(ada)
	turn, err := turns.Take(f.Ctx, ada)
	if err != nil {
		t.Fatal(err)
	}
	content := bytesOf(2, 3<<20)
	came, sent := make(chan struct{}), make(chan error, 1)
	go func() {
		// What comes after the first pieces is read when these are stored.
		_, _, err := f.Put(f.Ctx, ada, io.MultiReader(bytes.NewReader(content[:1<<20]), readerOf(func() { close(came) }), bytes.NewReader(content[1<<20:])))
		sent <- err
	}()
	short, cancel := context.WithCancel(f.Ctx)
	r, err := f.Open(short, ada, stored.Sum)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("a download whose reader left: %v", err)
	}
	f.put(bob, bytesOf(3, 2<<20))
	select {
	case <-came:
		t.Error("the upload went on without a turn")
	default:
	}
	turn.End()
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if r, err = f.Open(f.Ctx, ada, stored.Sum); err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		t.Error(err)
	}
}

// readerOf has no bytes; it reports when some are read.
type readerOf func()

func (r readerOf) Read([]byte) (int, error) {
	r()
	return 0, io.EOF
}
