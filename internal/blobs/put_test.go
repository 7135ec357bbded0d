package blobs_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Whatever the size, and however a body comes in, what is read is what was put, and it is
// stored once.
func TestWhatIsPutIsRead(t *testing.T) {
	f := setup(t)
	viewer := dbfactory.Person(f.Workspace, tenancy.RoleViewer)
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.SampledFrom([]int{0, 1, 100}).Draw(r, "beside") + blobs.PieceSize*rapid.IntRange(0, 4).Draw(r, "pieces")
		if size > 0 && rapid.Bool().Draw(r, "one less") {
			size--
		}
		content := bytesOf(rapid.Uint64Range(0, 3).Draw(r, "seed"), size)
		var body io.Reader = bytes.NewReader(content)
		if rapid.Bool().Draw(r, "in halves") {
			body = iotest.HalfReader(body)
		}
		if rapid.Bool().Draw(r, "end with the last bytes") {
			body = iotest.DataErrReader(body)
		}
		before := f.count("blob")
		b, created, err := f.Put(f.Ctx, f.Owner, body)
		if err != nil || b.Sum != sha256.Sum256(content) || b.Size != int64(size) || created != (f.count("blob") > before) {
			r.Fatalf("%d bytes were put as %+v, created %t, %v", size, b, created, err)
		}
		f.holds(viewer, content)
		from := rapid.IntRange(0, size).Draw(r, "from")
		reader, err := f.Open(f.Ctx, viewer, b.Sum)
		if err != nil {
			r.Fatal(err)
		}
		if _, err := reader.Seek(int64(from), io.SeekStart); err != nil {
			r.Fatal(err)
		}
		if rest, err := io.ReadAll(reader); err != nil || !bytes.Equal(rest, content[from:]) {
			r.Fatalf("from %d of %d: %d bytes, %v", from, size, len(rest), err)
		}
	})
	f.exact()
	f.collected()
	if twice := dbfactory.Int(t, f.DB, `SELECT count(*) FROM blob_data WHERE id NOT IN (SELECT data_id FROM blob)`); twice != 0 {
		t.Errorf("%d contents are stored twice", twice)
	}
	f.exact()
}

// Two put the same content at the same moment: one row, one of them made it, and the other
// one's bytes go.
func TestTwoPutTheSameAtOnce(t *testing.T) {
	f := setup(t)
	content := bytesOf(1, 3*blobs.PieceSize)
	release := f.Hold(`LOCK TABLE blob IN SHARE MODE`) // both have stored all and come to the name
	var made atomic.Int32
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			_, created, err := process(f.DB, blobs.Options{}).Put(f.Ctx, f.Owner, bytes.NewReader(content))
			if err != nil {
				t.Error(err)
			}
			if created {
				made.Add(1)
			}
		})
	}
	f.Blocked(2)
	release()
	all.Wait()
	if made.Load() != 1 || f.count("blob") != 1 {
		t.Errorf("%d made it, %d blobs", made.Load(), f.count("blob"))
	}
	f.exact()
	f.collected()
	if n := f.count("blob_data"); n != 1 {
		t.Errorf("%d contents are stored", n)
	}
	f.holds(f.Owner, content)
}

// A body that breaks off leaves no blob, takes no space, and its bytes go.
func TestABrokenUploadLeavesNothing(t *testing.T) {
	f := setup(t)
	for _, err := range []error{errBroken, io.ErrUnexpectedEOF} {
		body := io.MultiReader(bytes.NewReader(bytesOf(1, 5*blobs.PieceSize+1)), iotest.ErrReader(err))
		if _, _, got := f.Put(f.Ctx, f.Owner, body); !errors.Is(got, err) {
			t.Errorf("a body that ends with %v: %v", err, got)
		}
	}
	if f.count("blob") != 0 || f.count("blob_chunk") == 0 {
		t.Errorf("%d blobs, %d pieces", f.count("blob"), f.count("blob_chunk"))
	}
	f.exact()
	f.collected()
	if f.count("blob_data")+f.count("blob_chunk") != 0 {
		t.Errorf("%d contents with %d pieces are left", f.count("blob_data"), f.count("blob_chunk"))
	}
}

// An upload of a process that was killed expires; one that goes on does not.
func TestAnUploadThatWasLeftExpires(t *testing.T) {
	f := setup(t)
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, _, err := f.Put(f.Ctx, f.Owner, r)
		ended <- err
	}()
	if _, err := w.Write(bytesOf(1, 5*blobs.PieceSize)); err != nil {
		t.Fatal(err)
	}
	f.collected()
	if f.count("blob_chunk") == 0 {
		t.Error("an upload that goes on was collected")
	}
	f.later(2)
	f.collected()
	if f.count("blob_chunk")+f.count("blob_data") != 0 {
		t.Error("an upload that was left stayed")
	}
	_ = w.Close()
	if err := <-ended; err == nil {
		t.Error("an upload ended well whose bytes were collected")
	}
	f.exact()
}

func TestLimits(t *testing.T) {
	f := setup(t)
	few := process(f.DB, blobs.Options{MaxSize: 2 * blobs.PieceSize, MaxTotal: 3 * blobs.PieceSize})
	put := func(content []byte) error {
		_, _, err := few.Put(f.Ctx, f.Owner, bytes.NewReader(content))
		return err
	}
	first := bytesOf(1, 2*blobs.PieceSize)
	if err := put(first); err != nil {
		t.Fatal(err)
	}
	if err := put(bytesOf(2, 2*blobs.PieceSize+1)); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a byte too much: %v", err)
	}
	if err := put(bytesOf(2, 2*blobs.PieceSize)); !fault.Is(err, fault.StorageFull) {
		t.Errorf("more than the workspace has: %v", err)
	}
	if err := put(first[:blobs.PieceSize]); err != nil {
		t.Errorf("the last of the room: %v", err)
	}
	_, foreign := f.stranger()
	if _, _, err := few.Put(f.Ctx, foreign, bytes.NewReader(first)); err != nil {
		t.Errorf("in another workspace: %v", err)
	}
	f.exact()
	f.later(25)
	f.collected()
	if err := put(bytesOf(3, 2*blobs.PieceSize)); err != nil {
		t.Errorf("after all was collected: %v", err)
	}
	f.exact()
}

func TestWhoMayPut(t *testing.T) {
	f := setup(t)
	for who, may := range map[*tenancy.Principal]bool{
		ref(dbfactory.Person(f.Workspace, tenancy.RoleViewer)): false, ref(dbfactory.Person(f.Workspace, tenancy.RoleMember)): true,
		ref(dbfactory.Enrolment(f.Workspace)): false, ref(f.Agent("ada")): true,
	} {
		if _, _, err := f.Put(f.Ctx, *who, bytes.NewReader([]byte("x"))); may != (err == nil) || !may && !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s %s: %v", who.Kind, who.Role, err)
		}
	}
}

func ref[T any](v T) *T { return &v }
