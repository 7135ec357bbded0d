package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// maxBlob and maxBlobs are the limits of the tests' server.
const (
	maxBlob  = 2 << 20
	maxBlobs = 5 << 20
)

// putBlob stores a content.
func (w *apiServer) putBlob(token, content string) answer {
	w.t.Helper()
	return w.as(token, "PUT", "/blobs", content, "Content-Type", "application/octet-stream")
}

// raw makes a call whose answer is not checked against the description.
func (w *apiServer) raw(r *http.Request, token string) (*http.Response, error) {
	w.t.Helper()
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultClient.Do(r)
}

func (w *apiServer) request(method, path string, body io.Reader) *http.Request {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+api.BasePath+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func noise(seed byte, size int) string {
	all := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(all)
	return string(all)
}

// until waits for a number in the database.
func (w *apiServer) until(sql string, want int) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for dbfactory.Int(w.t, w.db, sql) != want {
		select {
		case <-tick.C:
		case <-w.t.Context().Done():
			w.t.Fatalf("%s is never %d", sql, want)
		}
	}
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func TestABlobGoesUpAndDown(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	content := noise(1, 700<<10)
	made := w.putBlob(ada, content).want(201)
	if made.text("sha256") != sumOf(content) || made.number("size") != int64(len(content)) {
		t.Errorf("it was put as %s", made.raw)
	}
	w.putBlob(w.owner, content).want(200)
	path := "/blobs/" + made.text("sha256")
	for _, token := range []string{ada, w.owner} {
		got := w.as(token, "GET", path, nil).want(200)
		if string(got.raw) != content || got.header.Get("ETag") != `"`+sumOf(content)+`"` || got.header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%d bytes, %v", len(got.raw), got.header)
		}
	}
	head := w.as(w.owner, "HEAD", path, nil).want(200)
	if len(head.raw) != 0 || head.header.Get("Content-Length") != strconv.Itoa(len(content)) {
		t.Errorf("HEAD: %d bytes, %v", len(head.raw), head.header)
	}
	w.as(w.owner, "GET", path, nil, "If-None-Match", `"`+sumOf(content)+`"`).want(304)
	part := w.as(w.owner, "GET", path, nil, "Range", "bytes=262140-262150").want(206)
	if string(part.raw) != content[262140:262151] || part.header.Get("Content-Range") != "bytes 262140-262150/716800" {
		t.Errorf("a range: %q, %v", part.raw, part.header)
	}
	several := w.request("GET", path, nil)
	several.Header.Set("Range", "bytes=0-9,-10")
	if a, err := w.raw(several, w.owner); err != nil || a.StatusCode != http.StatusPartialContent || !strings.HasPrefix(a.Header.Get("Content-Type"), "multipart/byteranges") {
		t.Errorf("two ranges: %v, %v", a, err)
	}
	behind := w.request("GET", path, nil)
	behind.Header.Set("Range", "bytes=716800-")
	if a, err := w.raw(behind, w.owner); err != nil || a.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range behind the end: %v, %v", a, err)
	}
	// In chunks, without a length and without a media type.
	chunked := w.request("PUT", "/blobs", io.MultiReader(strings.NewReader(content), strings.NewReader("!")))
	if a, err := w.raw(chunked, w.owner); err != nil || a.StatusCode != http.StatusCreated {
		t.Errorf("in chunks: %v, %v", a, err)
	}
	w.as(w.owner, "GET", "/blobs/"+sumOf(content+"!"), nil).want(200)
	w.putBlob(w.owner, "").want(201)
	if got := w.as(w.owner, "GET", "/blobs/"+sumOf(""), nil).want(200); len(got.raw) != 0 {
		t.Errorf("nothing is read as %q", got.raw)
	}
}

// What is not there, what is another's and what has no such name are the same answer.
func TestBlobsThatAreNotThere(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	sum := w.putBlob(w.owner, "mine").want(201).text("sha256")
	other := w.otherWorkspace()
	bob := w.agent("bob")
	for _, c := range []struct{ token, name string }{{w.owner, sumOf("nothing")}, {other, sum}, {bob, sum}, {w.owner, "x"}, {w.owner, strings.ToUpper(sum)}} {
		a := w.as(c.token, "GET", "/blobs/"+c.name, nil).want(404).refused(fault.NotFound)
		if a.text("detail") != "There is no such blob here." {
			t.Errorf("it says %s", a.raw)
		}
		w.as(c.token, "HEAD", "/blobs/"+c.name, nil).want(404)
	}
}

func TestLimitsOfBlobs(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.putBlob(w.owner, noise(1, maxBlob+1)).want(413).refused(fault.TooLarge)
	endless := w.request("PUT", "/blobs", io.MultiReader(strings.NewReader(noise(2, maxBlob)), strings.NewReader("!")))
	if a, err := w.raw(endless, w.owner); err != nil || a.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("in chunks: %v, %v", a, err)
	}
	w.putBlob(w.owner, noise(3, maxBlob)).want(201)
	w.putBlob(w.owner, noise(4, maxBlob)).want(201)
	w.putBlob(w.owner, noise(5, maxBlob)).want(409).refused(fault.StorageFull)
	w.putBlob(w.owner, noise(6, maxBlob/2)).want(201)
	w.as(w.owner, "PUT", "/blobs", "x", "Content-Type", "application/octet-stream", "Content-Encoding", "gzip").want(415).refused(fault.UnsupportedMedia)
	if n := dbfactory.Int(t, w.db, `SELECT bytes FROM blob_room`); n != maxBlobs {
		t.Errorf("%d bytes are counted", n)
	}
}

// slow returns a body of which a byte comes now and then until it is closed.
func slow(t *testing.T) io.ReadCloser {
	r, feed := io.Pipe()
	tick := time.NewTicker(100 * time.Millisecond)
	go func() {
		defer tick.Stop()
		for _, err := feed.Write([]byte{1}); err == nil; _, err = feed.Write([]byte{1}) {
			<-tick.C
		}
	}()
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// A caller has a few transfers at once; others go on.
func TestACallerHasAFewTransfersAtOnce(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	ended := make(chan struct{}, api.TransfersPerAsker)
	var bodies []io.Closer
	for range api.TransfersPerAsker {
		body := slow(t)
		bodies = append(bodies, body)
		go func() {
			_, _ = w.raw(w.request("PUT", "/blobs", body), w.owner)
			ended <- struct{}{}
		}()
	}
	w.until(`SELECT count(*) FROM blob_data`, api.TransfersPerAsker)
	w.putBlob(w.owner, "one more").want(429).refused(fault.TooMany)
	w.putBlob(ada, "another's").want(201)
	for _, body := range bodies {
		_ = body.Close()
		<-ended
	}
	w.until(`SELECT count(*) FROM blob_data WHERE expires_at > now()`, 0)
	w.putBlob(w.owner, "afterwards").want(201)
}

// An upload that stands still is broken off; meanwhile it holds no connection to the
// database.
func TestAnUploadThatStandsStill(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	r, feed := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := w.raw(w.request("PUT", "/blobs", r), w.owner)
		ended <- err
	}()
	if _, err := feed.Write([]byte(noise(1, 1200<<10))); err != nil {
		t.Fatal(err)
	}
	w.until(`SELECT count(*) FROM blob_data WHERE counted > 0`, 1)
	w.until(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`, 0)
	w.until(`SELECT bytes FROM blob_room`, 0)
	_ = feed.Close()
	<-ended
	w.putBlob(w.owner, "afterwards").want(201)
}

// A body that ends before its length leaves nothing; the client gets the refusal if it reads the answer.
func TestABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	r := w.request("PUT", "/blobs", io.LimitReader(strings.NewReader(noise(1, 300<<10)), 300<<10))
	r.ContentLength = 400 << 10
	if _, err := w.raw(r, w.owner); err == nil {
		t.Error("the client sent all")
	}
	<-w.left
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM blob`) + dbfactory.Int(t, w.db, `SELECT bytes FROM blob_room`); n != 0 {
		t.Errorf("a blob or room is taken: %d", n)
	}
}

// A flipped bit ends the body before it, so that the client misses bytes.
func TestADamagedBlobIsCutOff(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	content := noise(1, 1<<20)
	sum := w.putBlob(w.owner, content).want(201).text("sha256")
	dbfactory.Exec(t, w.db, `UPDATE blob_chunk SET data = set_bit(data, 999, 1 - get_bit(data, 999)) WHERE n = 2`)
	a, err := w.raw(w.request("GET", "/blobs/"+sum, nil), w.owner)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(a.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) >= len(content) || !bytes.HasPrefix([]byte(content), got) {
		t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
	}
	w.putBlob(w.owner, content).want(200)
	if got := w.as(w.owner, "GET", "/blobs/"+sum, nil).want(200); string(got.raw) != content {
		t.Errorf("%d bytes after it was put again", len(got.raw))
	}
}

// A completion names the blob of the whole patch: the job keeps it, and whoever reads the
// job reads it. One that is not there, or that the agent only knows the name of, is refused
// and the lease goes on.
func TestACompletionNamesItsPatch(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bob := w.agent("ada"), w.agent("bob")
	w.job("A large change")
	lease := w.claim(ada)
	theirs := w.putBlob(bob, "somebody else's").want(201).text("sha256")
	for _, name := range []string{sumOf("nothing"), theirs} {
		w.as(ada, "POST", "/fleet/complete", merge(lease, object{"patch_blob": name})).want(422).refused(fault.Validation, "patch_blob")
	}
	w.as(ada, "POST", "/fleet/complete", merge(lease, object{"patch_blob": "x"})).want(422).refused(fault.Validation, "patch_blob")
	patch := w.putBlob(ada, "diff --git a/a b/a").want(201).text("sha256")
	ending := merge(lease, object{"patch_blob": patch, "result": object{"diff": "diff", "patch_blob": theirs}})
	for range 2 {
		done := w.as(ada, "POST", "/fleet/complete", ending).want(200)
		if done.text("result", "patch_blob") != patch {
			t.Errorf("the result is %s", done.raw)
		}
	}
	w.as(bob, "GET", "/blobs/"+patch, nil).want(200)
	w.as(w.owner, "GET", "/blobs/"+patch, nil).want(200)
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM blob_ref`); n != 1 {
		t.Errorf("%d references", n)
	}
}

// A completion names a large result as it names a patch.
func TestACompletionNamesALargeResult(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bob := w.agent("ada"), w.agent("bob")
	w.job("A large result")
	lease := w.claim(ada)
	w.as(ada, "POST", "/fleet/complete", merge(lease, object{"result_blob": sumOf("nothing")})).want(422).refused(fault.Validation, "result_blob")
	table := w.putBlob(ada, "a,b\n1,2\n").want(201).text("sha256")
	ending := merge(lease, object{"result_blob": table, "result": object{"rows": 1, "result_blob": "mine"}})
	for range 2 {
		if done := w.as(ada, "POST", "/fleet/complete", ending).want(200); done.text("result", "result_blob") != table || done.number("result", "rows") != 1 {
			t.Errorf("the result is %s", done.raw)
		}
	}
	w.as(bob, "GET", "/blobs/"+table, nil).want(200)
}

// A checkpoint can be a blob, however it is reported; the next agent that claims the job is
// given its name and reads it. One that is not there is refused, and changes nothing.
func TestACheckpointIsABlob(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bob := w.agent("ada"), w.agent("bob")
	theirs := w.putBlob(bob, "somebody else's").want(201).text("sha256")
	for _, c := range []struct {
		path string
		body func(object) object
	}{
		{"/agents/ada/heartbeat", func(said object) object {
			return object{"boot_id": "ada-boot", "status": "working", "leases": []object{said}}
		}},
		{"/fleet/progress", func(said object) object { return said }},
		{"/fleet/release", func(said object) object { return merge(said, object{"reason": "another host is better"}) }},
		{"/fleet/ask", func(said object) object { return merge(said, object{"question": "which one?"}) }},
	} {
		job := w.job("Goes on: " + c.path)
		lease := w.claim(ada)
		tell := func(more object) answer { return w.as(ada, "POST", c.path, c.body(merge(lease, more))) }
		for _, name := range []string{sumOf("nothing"), theirs} {
			tell(object{"checkpoint_blob": name}).want(422).refused(fault.Validation, "checkpoint_blob")
		}
		saved := w.putBlob(ada, "the state of "+c.path).want(201).text("sha256")
		tell(object{"checkpoint_blob": saved, "checkpoint": object{"at": 1}}).want(422).refused(fault.Validation, "checkpoint_blob")
		if w.as(w.owner, "GET", "/jobs/"+job, nil).want(200).at("checkpoint") != nil {
			t.Errorf("%s: what was refused was kept", c.path)
		}
		w.as(bob, "GET", "/blobs/"+saved, nil).want(404)
		tell(object{"checkpoint_blob": saved}).want(200)
		if kept := w.as(w.owner, "GET", "/jobs/"+job, nil).want(200); kept.text("checkpoint", "checkpoint_blob") != saved {
			t.Errorf("%s: the job has %s", c.path, kept.raw)
		}
		w.as(w.owner, "POST", "/jobs/"+job+"/cancel", object{"reason": "it was tried"}).want(200)
	}
	// What the next agent is given.
	w.job("Handed on")
	lease := w.claim(ada)
	saved := w.putBlob(ada, "all of it").want(201).text("sha256")
	for range 2 {
		w.as(ada, "POST", "/fleet/release", merge(lease, object{"reason": "for bob", "checkpoint_blob": saved})).want(200)
	}
	claimed := w.as(bob, "POST", "/fleet/claim", object{"max": 1, "ttl_seconds": 60, "wait_seconds": 0}).want(200)
	if got := w.as(bob, "GET", "/blobs/"+claimed.text("jobs", 0, "checkpoint", "checkpoint_blob"), nil).want(200); string(got.raw) != "all of it" {
		t.Errorf("bob reads %q", got.raw)
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM blob_ref WHERE job_id IS NOT NULL`); n != 5 {
		t.Errorf("%d references", n)
	}
}
