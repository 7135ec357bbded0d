package s3_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/blobs/s3"
	"github.com/fleetboard/fleetboard/internal/blobs/s3/s3test"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// fixture is a workspace whose blobs are in a bucket.
type fixture struct {
	*blobs.Service
	t      *testing.T
	db     *db.DB
	server *s3test.Server
	who    tenancy.Principal
}

func setup(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	f := &fixture{t: t, db: dbtest.New(t), server: s3test.Serve(t)}
	f.who = dbfactory.Person(dbfactory.Workspace(t, f.db), tenancy.RoleMember)
	store, err := s3.New(f.server.Address(), s3.Credentials{AccessKey: "key", SecretKey: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	f.Service = blobs.New(f.db, dbtest.Vault(f.db), blobs.Options{Store: store})
	return f
}

func contentOf(size int) []byte {
	all := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(all)
	return all
}

func (f *fixture) put(content []byte) blobs.Blob {
	f.t.Helper()
	b, _, err := f.Put(f.t.Context(), f.who, bytes.NewReader(content))
	if err != nil {
		f.t.Fatalf("put %d bytes: %v", len(content), err)
	}
	return b
}

func (f *fixture) open(b blobs.Blob) *blobs.Reader {
	f.t.Helper()
	r, err := f.Open(f.t.Context(), f.who, b.Sum)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *fixture) collected() {
	f.t.Helper()
	for n := 1; n > 0; {
		var err error
		if n, err = f.Collect(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fixture) later() {
	f.t.Helper()
	dbfactory.Exec(f.t, f.db, `UPDATE blob SET free_since = free_since - interval '25 hours'`)
	dbfactory.Exec(f.t, f.db, `UPDATE blob_data SET expires_at = expires_at - interval '25 hours'`)
}

// What is put into a bucket is read from it, whole and in parts; the database has none of
// it, and no part is larger than the store gathers.
func TestContentsAreInTheBucket(t *testing.T) {
	f := setup(t)
	for _, size := range []int{0, 1, blobs.PieceSize, blobs.PieceSize + 1, 5 << 20, 5<<20 + 1, 13<<20 + 7} {
		content := contentOf(size)
		b := f.put(content)
		if got, err := io.ReadAll(f.open(b)); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes are read as %d, %v", size, len(got), err)
		}
		r := f.open(b)
		from, _ := r.Seek(int64(size)/3, io.SeekStart)
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content[from:]) {
			t.Errorf("%d bytes from %d on are read as %d, %v", size, from, len(got), err)
		}
	}
	if n := dbfactory.Int(t, f.db, `SELECT count(*) FROM blob_chunk`); n != 0 || len(f.server.Objects) != 6 || len(f.server.Uploads) != 0 {
		t.Errorf("%d pieces in the database, %d objects, %d uploads", n, len(f.server.Objects), len(f.server.Uploads))
	}
	if f.server.Largest > 6<<20 {
		t.Errorf("a request had %d bytes", f.server.Largest)
	}
	for key := range f.server.Objects {
		if !strings.HasPrefix(key, "in/here/"+f.who.Workspace.String()+"/") {
			t.Errorf("an object is called %s", key)
		}
	}
	f.later()
	f.collected()
	f.later()
	f.collected()
	if len(f.server.Objects) != 0 {
		t.Errorf("%d objects are left", len(f.server.Objects))
	}
}

// A bit that flips in the bucket, an object that is cut or gone: the read ends before.
func TestDamageInTheBucketIsFound(t *testing.T) {
	f := setup(t)
	content := contentOf(6<<20 + 5)
	for name, change := range map[string]func([]byte) []byte{
		"a bit":    func(o []byte) []byte { o = bytes.Clone(o); o[3<<20] ^= 4; return o },
		"cut":      func(o []byte) []byte { return o[:len(o)-1] },
		"shorter":  func(o []byte) []byte { return o[:1<<20] },
		"is gone":  func([]byte) []byte { return nil },
		"repaired": nil,
	} {
		b := f.put(content)
		if change != nil {
			for key, object := range f.server.Objects {
				f.server.Objects[key] = change(object)
			}
		}
		got, err := io.ReadAll(f.open(b))
		if change == nil {
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		} else if !errors.Is(err, blobs.ErrDamaged) || len(got) >= len(content) || !bytes.Equal(got, content[:len(got)]) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		f.put(content)
		f.later()
		f.collected()
		f.later()
		f.collected()
	}
}

// An upload that was broken off leaves parts that nobody else would ever delete.
func TestPartsOfABrokenUploadGo(t *testing.T) {
	f := setup(t)
	errBroken := errors.New("the client went away")
	body := io.MultiReader(bytes.NewReader(contentOf(7<<20)), iotest.ErrReader(errBroken))
	if _, _, err := f.Put(t.Context(), f.who, body); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if len(f.server.Uploads) != 1 {
		t.Fatalf("%d uploads are begun", len(f.server.Uploads))
	}
	f.collected()
	if len(f.server.Uploads) != 0 || dbfactory.Int(t, f.db, `SELECT count(*) FROM blob_data`) != 0 {
		t.Errorf("%d uploads are left", len(f.server.Uploads))
	}
}

// A bucket that refuses is not a damaged blob; and a server without the bucket says so.
func TestABucketThatRefuses(t *testing.T) {
	f := setup(t)
	b := f.put(contentOf(10))
	f.server.Broken = true
	if _, err := io.ReadAll(f.open(b)); !fault.Is(err, fault.Unavailable) || errors.Is(err, blobs.ErrDamaged) {
		t.Errorf("a read: %v", err)
	}
	if _, _, err := f.Put(t.Context(), f.who, bytes.NewReader(contentOf(11))); !fault.Is(err, fault.Unavailable) {
		t.Errorf("an upload: %v", err)
	}
	if _, err := f.Collect(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("the collection: %v", err)
	}
	f.server.Broken = false
	f.collected()
	if got, err := io.ReadAll(f.open(b)); err != nil || dbfactory.Int(t, f.db, `SELECT count(*) FROM blob_data`) != 1 {
		t.Errorf("afterwards: %d bytes, %v", len(got), err)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"s3://bucket": true, "s3://bucket/a/b?region=eu-1": true, "s3://bucket?endpoint=http://10.0.0.1:9000": true,
		"https://bucket": false, "s3:///a": false, "s3://key:secret@bucket": false, "s3://bucket?endpoint=example.com": false,
		"s3://bucket?endpoint=https://example.com/path": false, "s3://bucket?colour=red": false, "": false,
	} {
		if _, err := s3.New(address, s3.Credentials{}); good != (err == nil) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
