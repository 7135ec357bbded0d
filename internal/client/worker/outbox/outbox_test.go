package outbox_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/worker/outbox"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string) *outbox.Outbox {
	t.Helper()
	o, err := outbox.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func put(t *testing.T, o *outbox.Outbox, r outbox.Report) {
	t.Helper()
	if r.Body == nil {
		r.Body = json.RawMessage(`{}`)
	}
	if err := o.Put(r); err != nil {
		t.Fatal(err)
	}
}

func TestReportsOutliveTheProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "outbox")
	first := open(t, dir)
	put(t, first, outbox.Report{Job: "../FB/2", Epoch: 1, Verb: "fail", At: noon.Add(time.Second)})
	put(t, first, outbox.Report{Job: "FB-1", Epoch: 3, Verb: "complete", Body: json.RawMessage(`{"commit":"abc"}`), At: noon})
	put(
		t,
		first,
		outbox.Report{Job: "FB-1", Epoch: 3, Verb: "complete", Body: json.RawMessage(`{"commit":"abc"}`), At: noon, Accepted: true},
	)

	again := open(t, dir)
	pending, err := again.Pending()
	if err != nil || len(pending) != 2 {
		t.Fatalf("pending: %v, %v", pending, err)
	}
	if p := pending[0]; p.Job != "FB-1" || p.Epoch != 3 || string(p.Body) != `{"commit":"abc"}` || !p.Accepted {
		t.Errorf("the first is %+v", p)
	}
	if pending[1].Job != "../FB/2" {
		t.Errorf("the second is %+v", pending[1])
	}
	for range 2 { // a second time does no harm
		if err := again.Remove(outbox.Report{Job: "FB-1", Epoch: 3}); err != nil {
			t.Fatal(err)
		}
	}
	if pending, err := again.Pending(); err != nil || len(pending) != 1 {
		t.Errorf("after removing: %v, %v", pending, err)
	}
}

// Two servers may have jobs of one key: neither report takes the place of the other.
func TestReportsToTwoServersAreTwo(t *testing.T) {
	o := open(t, t.TempDir())
	one := outbox.Report{Job: "FB-1", ID: "018f-a", Epoch: 1, Verb: "complete", At: noon}
	two := one
	two.ID = "018f-b"
	put(t, o, one)
	put(t, o, two)
	if err := o.Remove(one); err != nil {
		t.Fatal(err)
	}
	if pending, err := o.Pending(); err != nil || len(pending) != 1 || pending[0].ID != "018f-b" {
		t.Errorf("pending: %+v, %v", pending, err)
	}
}

// A crash while a report is written leaves a file that is not one; one that the disk broke
// hides no other.
func TestBrokenFilesHideNoReport(t *testing.T) {
	dir := t.TempDir()
	o := open(t, dir)
	put(t, o, outbox.Report{Job: "FB-1", Epoch: 1, Verb: "release", At: noon})
	for name, text := range map[string]string{"new-123": `{"job":`, "66-e1.json": `{"job":`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pending, err := o.Pending()
	if len(pending) != 1 || err == nil {
		t.Errorf("pending: %v, %v", pending, err)
	}
}
