package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/replication"
	"github.com/fleetboard/fleetboard/db/vault"
)

// memory is a store.
type memory map[string][]byte

func (m memory) Put(_ context.Context, name string, content []byte) error {
	m[name] = bytes.Clone(content)
	return nil
}

func (m memory) Get(_ context.Context, name string) ([]byte, error) {
	if m[name] == nil {
		return nil, fs.ErrNotExist
	}
	return m[name], nil
}

func (m memory) List(_ context.Context, prefix string) (names []string, err error) {
	for name := range m {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (m memory) Remove(_ context.Context, name string) error {
	delete(m, name)
	return nil
}

var secret = bytes.Repeat([]byte{3}, vault.KeySize)

// put writes a manifest, and the parts that it names.
func (m memory) put(t *testing.T, is Manifest) {
	t.Helper()
	text, err := sign(secret, is)
	if err != nil {
		t.Fatal(err)
	}
	m[is.ID+"/"+manifestName] = text
}

func at(day int) time.Time { return time.Date(2026, 3, day, 12, 0, 0, 0, time.UTC) }

func manifestOf(day int) Manifest {
	return Manifest{Format: format, ID: newID(at(day)), Kind: Cluster, Schema: 10, Product: "v1", Begun: at(day), Ended: at(day).Add(time.Minute),
		Copy: &Copy{System: "7", Timeline: 1, SegmentSize: 1 << 20, Start: fmt.Sprintf("0/%X", day<<20), End: fmt.Sprintf("0/%X", day<<20+100),
			Chain: "5e0d7a31"}}
}

// A manifest is what was signed, to the last byte.
func TestASignedFileCannotBeChanged(t *testing.T) {
	t.Parallel()
	was := manifestOf(1)
	text, err := sign(secret, was)
	if err != nil {
		t.Fatal(err)
	}
	var is Manifest
	signer, err := unsign("m", text, &is)
	if err != nil || is.ID != was.ID || !signedBy(signer, [][]byte{secret}) || signedBy(signer, [][]byte{bytes.Repeat([]byte{4}, vault.KeySize)}) {
		t.Fatalf("%+v, %v", is, err)
	}
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if _, err := unsign("m", changed, &is); err == nil {
			t.Fatalf("a change of byte %d of %d was not noticed: %q", i, len(text), changed[max(0, i-10):min(len(text), i+10)])
		}
	}
}

// The newest backup that ended before a time is chosen; what was not finished, is of a newer version or of
// a newer schema is not.
func TestTheBackupIsChosen(t *testing.T) {
	t.Parallel()
	store := memory{}
	days := map[int]Manifest{1: manifestOf(1), 3: manifestOf(3), 5: manifestOf(5)}
	for _, m := range days {
		store.put(t, m)
	}
	store[newID(at(6))+"/base.tar.00001"] = []byte("not finished")
	list, err := List(t.Context(), store)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d backups, %v", len(list), err)
	}
	for want, when := range map[int]time.Time{5: {}, 1: at(2), 3: at(5), 4: at(1)} {
		f, err := choose(list, when)
		if want == 4 {
			if err == nil || !strings.Contains(err.Error(), "the oldest backup was finished at 2026-03-01T12:01:00Z") {
				t.Errorf("before the first: %v", err)
			}
		} else if err != nil || f.ID != days[want].ID {
			t.Errorf("at %s: %s, %v", when, f.ID, err)
		}
	}
	request := Request{From: store, Secrets: [][]byte{secret}, DataDir: t.TempDir(), Schema: 9}
	if _, err := request.choose(t.Context()); err == nil || !strings.Contains(err.Error(), "the backup has schema 10 and this program knows those up to 9") {
		t.Errorf("a newer schema: %v", err)
	}
	newer := manifestOf(7)
	newer.Format, newer.Product = format+1, "v9"
	store.put(t, newer)
	if _, err := List(t.Context(), store); err == nil || !strings.Contains(err.Error(), "was made by a newer version, v9") {
		t.Errorf("a newer version: %v", err)
	}
}

// An archive is cut into parts and put together again; a part that is changed, cut or missing is named.
func TestPartsArePutTogether(t *testing.T) {
	t.Parallel()
	content := make([]byte, 2*partSize+17)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	store, m := memory{}, manifestOf(1)
	w := m.archive(t.Context(), &Target{Store: store}, "base.tar")
	for piece := range slices.Chunk(content, 1_000_003) {
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	read := func() ([]byte, error) {
		var out bytes.Buffer
		_, err := out.ReadFrom(readArchive(t.Context(), store, m, "base.tar", func(int64) {}))
		return out.Bytes(), err
	}
	if got, err := read(); err != nil || !bytes.Equal(got, content) || len(m.Parts) != 3 {
		t.Fatalf("%d bytes in %d parts, %v", len(got), len(m.Parts), err)
	}
	for _, p := range m.Parts {
		name := m.ID + "/" + p.Name
		was := store[name]
		for what, now := range map[string][]byte{"is not what": append([]byte{was[0] ^ 1}, was[1:]...), "is not what ": was[:len(was)-1], "is missing": nil} {
			store[name] = now
			_, err := read()
			var damage *DamageError
			if !errors.As(err, &damage) || !strings.Contains(err.Error(), p.Name) || !strings.Contains(err.Error(), strings.TrimSpace(what)) {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
		store[name] = was
	}
}

// The archived log is put together out of segments and pieces, also where some were written twice; a gap
// is found.
func TestTheLogIsPutTogether(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	whole := make([]byte, 3*size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(whole)
	store := memory{}
	put := func(segment int, from, to int64, complete bool) string {
		begins := replication.LSN(0).Plus(int64(segment) * size)
		piece := whole[int64(segment-1)*size+from : int64(segment-1)*size+to]
		name := chainFolder + "c/" + logName(replication.SegmentName(1, begins, size), from, complete, piece)
		store[name] = piece
		return name
	}
	put(1, 0, size, true)
	put(1, 0, 700, false) // which a crash left
	put(2, 0, size, true)
	first, twice := put(3, 0, 700, false), put(3, 0, 900, false)
	last := put(3, 900, 1000, false)
	store[chainFolder+"c/"+stateName] = nil
	end := replication.LSN(0).Plus(3*size + 1000)
	read := func() (got []byte, err error) {
		l := &archivedLog{store: store}
		err = l.find(t.Context(), &Copy{End: "0/100000", SegmentSize: size, Chain: "c"},
			chainState{Timeline: 1, SegmentSize: size, Position: end.String()})
		if err != nil {
			return nil, err
		}
		err = l.segments(t.Context(), func(_ string, content []byte) error {
			got = append(got, content...)
			return nil
		})
		return got, err
	}
	want := append(bytes.Clone(whole[:2*size+1000]), make([]byte, size-1000)...)
	if got, err := read(); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, equal %t, %v", len(got), bytes.Equal(got, want), err)
	}
	delete(store, first)
	if got, err := read(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("without a piece that was written twice: %v", err)
	}
	was := store[last]
	store[last] = append([]byte{was[0] ^ 1}, was[1:]...)
	if _, err := read(); err == nil || !strings.Contains(err.Error(), "is not what the backup wrote") {
		t.Errorf("a changed piece: %v", err)
	}
	store[last] = was
	delete(store, twice)
	if _, err := read(); err == nil || !strings.Contains(err.Error(), "the archived log has a gap: of 000000010000000000000003 it has 0 bytes of 1000") {
		t.Errorf("a gap: %v", err)
	}
}

// Of a server's backups the newest stay, with the log since the oldest of them; those of another server, and
// what is younger than a day, stay.
func TestOldBackupsAreRemoved(t *testing.T) {
	t.Parallel()
	store := memory{}
	other := manifestOf(1)
	other.Copy.System = "8"
	store.put(t, other)
	var own []Manifest
	for day := 2; day <= 6; day++ {
		own = append(own, manifestOf(day))
		store.put(t, own[len(own)-1])
	}
	young, old := newID(time.Now()), newID(at(1))
	store[young+"/base.tar.00001"], store[old+"/base.tar.00001"] = []byte{1}, []byte{1}
	for chain, state := range map[string]chainState{
		"5e0d7a31": {System: "7", SegmentSize: 1 << 20}, "without": {System: "7", SegmentSize: 1 << 20, Reached: at(2)},
		"begun": {System: "7", SegmentSize: 1 << 20, Reached: time.Now()}, "others": {System: "8", SegmentSize: 1 << 20}} {
		text, err := sign(secret, state)
		if err != nil {
			t.Fatal(err)
		}
		store[chainFolder+chain+"/"+stateName] = text
		for segment := range int64(7) {
			name := replication.SegmentName(1, replication.LSN(0).Plus(segment<<20), 1<<20)
			store[chainFolder+chain+"/"+logName(name, 0, true, nil)] = nil
		}
	}
	if err := errors.Join(removeUnfinished(t.Context(), store, false), prune(t.Context(), store, own[4], 3)); err != nil {
		t.Fatal(err)
	}
	list, err := List(t.Context(), store)
	if err != nil || len(list) != 4 || list[0].ID != other.ID || list[1].ID != own[2].ID {
		t.Errorf("%d backups are left, %v", len(list), err)
	}
	if store[young+"/base.tar.00001"] == nil || store[old+"/base.tar.00001"] != nil {
		t.Error("of two backups that were not finished not just the old one was removed")
	}
	if err := removeUnfinished(t.Context(), store, true); err != nil || store[young+"/base.tar.00001"] != nil {
		t.Errorf("where nobody else writes, a young one is left: %v", err)
	}
	for chain, want := range map[string]int{"5e0d7a31": 3, "without": 0, "begun": 7, "others": 7} {
		names, _ := store.List(t.Context(), chainFolder+chain+"/0")
		if len(names) != want {
			t.Errorf("of the log %s %d segments are left, want %d", chain, len(names), want)
		}
	}
}

func TestAPassphrase(t *testing.T) {
	t.Parallel()
	sealed := sealKey(secret, "correct horse battery")
	if got, err := sealed.open("correct horse battery"); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("%x, %v", got, err)
	}
	if _, err := sealed.open("incorrect horse"); err == nil {
		t.Error("another passphrase opens it")
	}
	if bytes.Contains(sealed.Sealed, secret[:8]) {
		t.Error("the key is in clear")
	}
}
