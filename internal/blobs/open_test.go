package blobs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// A bit that flips, a piece that is missing, one that stands in another's place: the read
// ends before the bytes that are wrong, and who puts the content again repairs it.
func TestDamageIsFound(t *testing.T) {
	f := setup(t)
	content := bytesOf(1, 6*blobs.PieceSize+10)
	const consistent = "another's piece with its digest" // only the whole shows it
	other := f.put(f.Owner, bytesOf(2, 6*blobs.PieceSize+10))
	for name, sql := range map[string]string{
		"a bit":            `UPDATE blob_chunk SET data = set_bit(data, 77777, 1 - get_bit(data, 77777)) WHERE n = 5 AND data_id = $1`,
		"the last bit":     `UPDATE blob_chunk SET data = set_bit(data, 79, 1 - get_bit(data, 79)) WHERE n = 6 AND data_id = $1`,
		"a missing piece":  `DELETE FROM blob_chunk WHERE n = 5 AND data_id = $1`,
		"the last missing": `DELETE FROM blob_chunk WHERE n = 6 AND data_id = $1`,
		"a shorter piece":  `UPDATE blob_chunk SET data = substr(data, 2) WHERE n = 5 AND data_id = $1`,
		"another's piece": `UPDATE blob_chunk c SET data = o.data FROM blob_chunk o
			WHERE c.n = 5 AND c.data_id = $1 AND o.n = 5 AND o.data_id <> $1`,
		consistent: `WITH o AS (SELECT c.data, d.digests FROM blob_chunk c
				JOIN blob_data d ON d.id = c.data_id WHERE c.n = 5 AND d.id <> $1 AND d.expires_at IS NULL),
			u AS (UPDATE blob_data d SET digests = overlay(d.digests PLACING substr(o.digests, 161, 32) FROM 161) FROM o WHERE d.id = $1)
			UPDATE blob_chunk c SET data = o.data FROM o WHERE c.n = 5 AND c.data_id = $1`,
	} {
		b := f.put(f.Owner, content)
		dbfactory.Exec(t, f.DB, sql, dbfactory.Text(t, f.DB, `SELECT data_id::text FROM blob WHERE sha256 = $1`, b.Sum[:]))
		got, err := f.get(f.Owner, b.Sum)
		if !errors.Is(err, blobs.ErrDamaged) || len(got) >= len(content) ||
			name != consistent && !bytes.Equal(got, content[:len(got)]) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(content), err)
		}
		f.put(f.Owner, content)
		f.holds(f.Owner, content)
		f.exact()
		f.later(2)
		f.collected()
	}
	if _, err := f.get(f.Owner, other.Sum); err != nil {
		t.Error(err)
	}
	if n := f.count("blob_data"); n != 2 {
		t.Errorf("%d contents are left of two", n)
	}
}

// A range reads the pieces that it is in, and only damage in them ends it.
func TestARangeIsChecked(t *testing.T) {
	f := setup(t)
	content := bytesOf(1, 4*blobs.PieceSize)
	b := f.put(f.Owner, content)
	dbfactory.Exec(t, f.DB, `DELETE FROM blob_chunk WHERE n = 2`)
	for _, c := range []struct {
		from, to int64
		good     bool
	}{{0, 10, true}, {2*blobs.PieceSize - 5, 2 * blobs.PieceSize, true}, {2*blobs.PieceSize - 5, 2*blobs.PieceSize + 1, false},
		{3 * blobs.PieceSize, 4 * blobs.PieceSize, true}, {2*blobs.PieceSize + 9, 2*blobs.PieceSize + 10, false}} {
		r, err := f.Open(f.Ctx, f.Owner, b.Sum)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Seek(c.from, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.LimitReader(r, c.to-c.from))
		if c.good != (err == nil) || c.good && !bytes.Equal(got, content[c.from:c.to]) || !c.good && !errors.Is(r.Err(), blobs.ErrDamaged) {
			t.Errorf("%d to %d: %d bytes, %v", c.from, c.to, len(got), err)
		}
	}
}

// What an agent puts that holds a job with secrets is sealed: no row reveals it, and another
// one's sealed piece is refused. It is read as everything else, and put in place of what
// was stored open before.
func TestAContentBesideSecretsIsSealed(t *testing.T) {
	f := setup(t)
	ada, bob := f.Agent("ada"), f.Agent("bob")
	content := bytes.Repeat([]byte("the token is hunter2. "), 40_000)
	open := f.put(bob, content)
	told := func() int {
		return dbfactory.Int(t, f.DB, `SELECT count(*) FROM blob_chunk WHERE position('hunter2'::bytea IN data) > 0
			AND data_id IN (SELECT data_id FROM blob)`)
	}
	if told() == 0 {
		t.Fatal("the question is wrong")
	}
	f.Job("with a secret", func(n *jobs.New) {
		n.InputContext, n.SecretKeys = json.RawMessage(`{"A":"hunter2"}`), []string{"A"}
	})
	f.Claim(ada)
	if sealed := f.put(ada, content); sealed.Sum != open.Sum || told() != 0 {
		t.Errorf("%d pieces tell the secret", told())
	}
	f.holds(f.Owner, content)
	f.put(bob, content)
	if told() != 0 {
		t.Error("a sealed content was replaced by an open one")
	}
	f.exact()

	if err := f.Jobs.Secrets.RenewKey(f.Ctx, f.Owner); err != nil {
		t.Fatal(err)
	}
	for n := 1; n > 0; {
		var err error
		if n, err = f.Jobs.Secrets.RotateSecrets(f.Ctx); err != nil {
			t.Fatal(err)
		}
	}
	const alive = `SELECT count(*) FROM workspace_key WHERE retired_at IS NULL`
	if n := dbfactory.Int(t, f.DB, alive); n != 2 {
		t.Errorf("%d keys live while a blob needs the first", n)
	}
	if n, err := f.RotateKeys(f.Ctx); n != 1 || err != nil {
		t.Errorf("%d keys of blobs were sealed anew, %v", n, err)
	}
	if _, err := f.Jobs.Secrets.RotateSecrets(f.Ctx); err != nil || dbfactory.Int(t, f.DB, alive) != 1 {
		t.Errorf("%d keys live, %v", dbfactory.Int(t, f.DB, alive), err)
	}
	f.holds(f.Owner, content)

	dbfactory.Exec(t, f.DB, `UPDATE blob_data SET sealed_key = set_bit(sealed_key, 200, 1 - get_bit(sealed_key, 200)) WHERE key_id IS NOT NULL`)
	if _, err := f.get(f.Owner, open.Sum); err == nil || fault.Is(err, fault.NotFound) {
		t.Errorf("a key that was changed: %v", err)
	}
}

// Another workspace's blob is not there, by whatever way.
func TestAnotherWorkspacesBlobIsNotThere(t *testing.T) {
	f := setup(t)
	content := bytesOf(1, 1000)
	b := f.put(f.Owner, content)
	agent, owner := f.stranger()
	for _, who := range []tenancy.Principal{agent, owner} {
		if _, err := f.Open(f.Ctx, who, b.Sum); !fault.Is(err, fault.NotFound) {
			t.Errorf("a %s of another workspace reads it: %v", who.Kind, err)
		}
		if err := f.refer(who, b.Sum, jobs.Job{}); !fault.Is(err, fault.NotFound) {
			t.Errorf("a %s of another workspace refers to it: %v", who.Kind, err)
		}
	}
	if _, created, err := f.Put(f.Ctx, owner, bytes.NewReader(content)); err != nil || !created {
		t.Errorf("the other workspace's own copy: created %t, %v", created, err)
	}
	err := f.DB.In(f.Ctx, db.Workspace(owner.Workspace), func(tx db.Tx) error {
		for _, table := range []string{"blob", "blob_data", "blob_chunk", "blob_room"} {
			var n int
			if err := tx.QueryRow(f.Ctx, `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 1 {
				t.Errorf("%s: %d rows are seen, %v", table, n, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An agent reads what it put, and what the jobs within its token's scope name; nobody
// gets a blob by naming it.
func TestWhoReadsABlob(t *testing.T) {
	f := setup(t)
	f.Product("pay", jobs.ProductSettings{})
	ada, bob, carl := f.Agent("ada"), f.Agent("bob"), f.Agent("carl")
	carl.Scope = tenancy.Scope{Products: []string{"default"}}
	sum := f.put(ada, []byte("a patch")).Sum
	reads := func(what string, want bool, who tenancy.Principal) {
		t.Helper()
		if _, err := f.Open(f.Ctx, who, sum); want != (err == nil) || !want && !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %s reads it: %v", what, who.Name, err)
		}
	}
	reads("before it is named", true, ada)
	reads("before it is named", false, bob)
	pay, plain := f.Job("of pay", func(n *jobs.New) { n.Product = "pay" }), f.Job("of no product")
	if err := f.refer(bob, sum, plain); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob names what he cannot read: %v", err)
	}
	for range 2 {
		if err := f.refer(ada, sum, pay); err != nil {
			t.Fatal(err)
		}
	}
	reads("named by a job of pay", true, bob)
	reads("named by a job of pay", false, carl)
	if err := f.refer(bob, sum, plain); err != nil {
		t.Fatal(err)
	}
	reads("named by a job of no product too", true, carl)
	if n := f.count("blob_ref"); n != 2 {
		t.Errorf("%d references", n)
	}
	reads("a viewer", true, dbfactory.Person(f.Workspace, tenancy.RoleViewer))
	reads("an enrolment token", false, dbfactory.Enrolment(f.Workspace))
}
