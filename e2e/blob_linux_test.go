package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// A blob of 64 MB goes up and down, twice each, and the server grows by less than 32 MB.
func TestALargeBlobTakesLittleMemory(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "DATABASE_URL="+freshDatabase(t))
	const size = 64 << 20
	content := func(seed byte) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{seed}), size) }
	call := func(method, path string, body io.Reader, length int64) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.url+"/api/v1/blobs"+path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		r.Header.Set("Authorization", "Bearer "+s.token("owner-token"))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	_ = call(http.MethodPut, "", strings.NewReader("warm up"), 7).Body.Close()
	before := s.memory("VmRSS:")
	s.forgetPeak()
	for seed, length := range []int64{size, -1} { // with its length, and in chunks
		whole := sha256.New()
		up := call(http.MethodPut, "", io.TeeReader(content(byte(seed)), whole), length)
		if said, _ := io.ReadAll(up.Body); up.StatusCode != http.StatusCreated {
			t.Fatalf("up: %s: %s", up.Status, said)
		}
		_ = up.Body.Close()
		down, got := call(http.MethodGet, "/"+hex.EncodeToString(whole.Sum(nil)), nil, 0), sha256.New()
		if n, err := io.Copy(got, down.Body); err != nil || n != size || string(got.Sum(nil)) != string(whole.Sum(nil)) {
			t.Errorf("down: %s, %d bytes, %v", down.Status, n, err)
		}
		_ = down.Body.Close()
	}
	if grown := s.memory("VmHWM:") - before; grown > 32<<20 {
		t.Errorf("the server grew by %d MB", grown>>20)
	} else {
		t.Logf("the server grew by %d KB at most, from %d KB", grown>>10, before>>10)
	}
}
