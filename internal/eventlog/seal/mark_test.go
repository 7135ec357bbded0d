package seal_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/eventlog/seal"
)

// Marks go on with the log, stay where a log was cut, and are not written where
// nothing happened.
func TestMarksOnlyRise(t *testing.T) {
	w := newSealedLog(t)
	if w.marks.saved != 1 {
		t.Errorf("the marks were written %d times; want once", w.marks.saved)
	}
	w.keep()
	if w.marks.saved != 1 {
		t.Error("the marks were written although nothing happened")
	}
	w.exec(`DELETE FROM log_seal WHERE number = 3`)
	for range 2 {
		if cuts := w.keep(); len(cuts) != 1 || cuts[0].Workspace != w.workspace || !strings.Contains(cuts[0].Detail, "block 3") {
			t.Errorf("cut: %+v", cuts)
		}
	}
	// Another history that is as long: the mark knows its block.
	w.exec(`DELETE FROM event WHERE id > 8`)
	w.seal()
	if cuts := w.keep(); len(cuts) != 1 || !strings.Contains(cuts[0].Detail, "another copy") || w.marks.saved != 1 {
		t.Errorf("cut: %+v; saved %d times", cuts, w.marks.saved)
	}
	w.wants("another copy", "another copy")

	if n, err := w.sealer.Reopen(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d logs were opened again, %v", n, err)
	}
	if err := seal.Forget(t.Context(), w.db, keys, w.marks); err != nil {
		t.Fatal(err)
	}
	w.wants("accepted")
	if n := w.seal(); n != 8 {
		t.Errorf("%d events are in the new chain; want 8", n)
	}
	if cuts := w.keep(); len(cuts) != 0 || w.marks.saved != 3 {
		t.Errorf("cut: %+v; saved %d times", cuts, w.marks.saved)
	}
	w.exec(`DELETE FROM event WHERE id = 2`)
	w.wants("damaged again", "event 2 is gone")
}

// Marks that somebody else wrote are refused, by whatever change.
func TestMarksAreSigned(t *testing.T) {
	w := newSealedLog(t)
	whole := string(w.marks.text)
	for what, text := range map[string]string{
		"another number": strings.Replace(whole, `"number": 3`, `"number": 2`, 1), "nothing in them": `{"format": 1, "logs": {}}`,
		"no JSON": `x`, "no workspaces": `{}`, "empty": ``,
	} {
		w.marks.text = []byte(text)
		if text == whole {
			t.Fatalf("%s: nothing was changed", what)
		}
		if _, err := seal.NewVerifier(t.Context(), w.db, keys, w.marks); err == nil {
			t.Errorf("%s: the marks were believed", what)
		}
		if _, err := seal.Keep(t.Context(), w.db, keys, w.marks); err == nil || string(w.marks.text) != text {
			t.Errorf("%s: the marks were written over (%v)", what, err)
		}
	}
}

// After the secret key was changed, blocks and marks of the key before count, as
// long as it is given once; then the marks remember its public half.
func TestTheSecretKeyMayChange(t *testing.T) {
	w := newSealedLog(t)
	first, second := []byte("the server's secret key of tests"), []byte("another secret key of the server")
	if _, err := seal.Keep(t.Context(), w.db, seal.NewKeys(second), w.marks); err == nil {
		t.Error("marks of an unknown key were believed")
	}
	both := seal.NewKeys(second, first)
	w.happen(1)
	w.settled()
	if n, err := seal.New(w.db, both).Seal(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d events, %v", n, err)
	}
	if cuts, err := seal.Keep(t.Context(), w.db, both, w.marks); len(cuts) > 0 || err != nil {
		t.Fatalf("%v, %v", cuts, err)
	}
	v, err := seal.NewVerifier(t.Context(), w.db, seal.NewKeys(second), w.marks)
	if err != nil {
		t.Fatal(err)
	}
	err = v.Check(t.Context(), w.workspace, func(detail string) { t.Errorf("with the new key alone: %s", detail) })
	if err != nil {
		t.Fatal(err)
	}
}

// Without a key nothing that is sealed can be checked, and that is said.
func TestWithoutAKeyNothingIsWhole(t *testing.T) {
	w := newWorkspaceLog(t)
	check := func() error {
		v, err := seal.NewVerifier(t.Context(), w.db, nil, w.marks)
		if err != nil {
			t.Fatal(err)
		}
		return v.Check(t.Context(), w.workspace, func(string) {})
	}
	if err := check(); err != nil {
		t.Errorf("a log without seals: %v", err)
	}
	w.happen(1)
	w.settled()
	w.seal()
	if err := check(); err != seal.ErrNoKey { //nolint:errorlint // it is handed on as it is
		t.Errorf("a sealed log: %v", err)
	}
}

func TestMarksInAFile(t *testing.T) {
	t.Parallel()
	store := seal.File{Dir: t.TempDir()}
	keepsMarks(t, store)
	info, err := os.Stat(filepath.Join(store.Dir, seal.MarkFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if list, err := os.ReadDir(store.Dir); len(list) != 1 || err != nil {
		t.Errorf("%d files are left, %v", len(list), err)
	}
	if err := (seal.File{Dir: filepath.Join(store.Dir, "none")}).Save(t.Context(), nil); err == nil {
		t.Error("marks were written to a directory that is not there")
	}
}

func TestMarksAtAnAddress(t *testing.T) {
	t.Parallel()
	var kept []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/marks":
			w.WriteHeader(http.StatusForbidden)
		case r.Method == http.MethodPut:
			kept, _ = io.ReadAll(r.Body)
		case kept == nil:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write(kept)
		}
	}))
	t.Cleanup(server.Close)
	keepsMarks(t, seal.Address{URL: server.URL + "/marks"})
	elsewhere := seal.Address{URL: server.URL + "/other"}
	if _, err := elsewhere.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a refusal is read as marks: %v", err)
	}
	if err := elsewhere.Save(t.Context(), nil); err == nil {
		t.Error("a refusal is taken for saved")
	}
}

func keepsMarks(t *testing.T, store seal.Store) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if text, err := store.Load(ctx); text != nil || err != nil {
		t.Errorf("before the first: %q, %v", text, err)
	}
	for _, text := range []string{"one", "two"} {
		if err := store.Save(ctx, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := store.Load(ctx); string(got) != text || err != nil {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
}
