package blobs_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// fixture is a workspace with its fleet and its blobs.
type fixture struct {
	*dispatchtest.Fixture
	*blobs.Service
}

func setup(t *testing.T) *fixture {
	t.Helper()
	w := dispatchtest.New(t)
	return &fixture{w, process(w.DB, blobs.Options{})}
}

// process returns the blobs as another process of the server has them.
func process(d *db.DB, o blobs.Options) *blobs.Service {
	o.Jobs = lease.Scopes{}
	return blobs.New(d, dbtest.Vault(d), o)
}

// bytesOf are so many bytes, others for each seed.
func bytesOf(seed uint64, size int) []byte {
	all := make([]byte, size)
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	_, _ = rand.NewChaCha8(key).Read(all)
	return all
}

// put stores a content, which must be possible.
func (f *fixture) put(who tenancy.Principal, content []byte) blobs.Blob {
	f.T.Helper()
	b, _, err := f.Put(f.Ctx, who, bytes.NewReader(content))
	if err != nil {
		f.T.Fatalf("put %d bytes: %v", len(content), err)
	}
	if b.Size != int64(len(content)) || b.Sum != sha256.Sum256(content) {
		f.T.Errorf("%d bytes were put as %+v", len(content), b)
	}
	return b
}

// get reads a blob whole.
func (f *fixture) get(who tenancy.Principal, sum blobs.Sum) ([]byte, error) {
	r, err := f.Open(f.Ctx, who, sum)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// holds asserts that a blob reads as a content.
func (f *fixture) holds(who tenancy.Principal, content []byte) {
	f.T.Helper()
	got, err := f.get(who, sha256.Sum256(content))
	if err != nil || !bytes.Equal(got, content) {
		f.T.Errorf("%d bytes are read as %d, %v", len(content), len(got), err)
	}
}

// refer has a job name a blob.
func (f *fixture) refer(who tenancy.Principal, sum blobs.Sum, job jobs.Job) error {
	return f.DB.In(f.Ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		return f.ReferTx(f.Ctx, tx, who, sum, blobs.Ref{Job: job.ID})
	})
}

// collected calls the loop until nothing is left to do.
func (f *fixture) collected() {
	f.T.Helper()
	for n := 1; n > 0; {
		var err error
		if n, err = f.Collect(f.Ctx); err != nil {
			f.T.Fatal(err)
		}
	}
}

// later moves the clocks of all blobs back by hours.
func (f *fixture) later(hours int) {
	f.T.Helper()
	dbfactory.Exec(f.T, f.DB, `UPDATE blob SET free_since = free_since - make_interval(hours => $1)`, hours)
	dbfactory.Exec(f.T, f.DB, `UPDATE blob_data SET expires_at = expires_at - make_interval(hours => $1)`, hours)
}

// exact asserts that the space that is counted is that of the bytes that are there.
func (f *fixture) exact() {
	f.T.Helper()
	for what, sql := range map[string]string{
		"room that differs from its bytes": `SELECT count(*) FROM blob_room r
			WHERE r.bytes <> (SELECT coalesce(sum(d.counted), 0) FROM blob_data d WHERE d.workspace_id = r.workspace_id)`,
		"named bytes that are not counted": `SELECT count(*) FROM blob b JOIN blob_data d ON d.workspace_id = b.workspace_id AND d.id = b.data_id
			WHERE d.counted <> b.size OR d.expires_at IS NOT NULL`,
		"bytes without a name that never expire": `SELECT count(*) FROM blob_data d WHERE d.expires_at IS NULL
			AND NOT EXISTS (SELECT FROM blob b WHERE b.workspace_id = d.workspace_id AND b.data_id = d.id)`,
	} {
		if n := dbfactory.Int(f.T, f.DB, sql); n != 0 {
			f.T.Errorf("%s: %d", what, n)
		}
	}
}

func (f *fixture) count(table string) int {
	f.T.Helper()
	return dbfactory.Int(f.T, f.DB, `SELECT count(*) FROM `+table)
}

// broken is a reader that gives a content and then fails.
var errBroken = errors.New("the client went away")

// stranger returns an agent of another workspace, a member of it, and its workspace.
func (f *fixture) stranger() (tenancy.Principal, tenancy.Principal) {
	f.T.Helper()
	other := dbfactory.Workspace(f.T, f.DB)
	return tenancy.Principal{Kind: tenancy.KindAgent, Workspace: other, Agent: ids.New(), Name: "stranger"},
		dbfactory.Person(other, tenancy.RoleOwner)
}
