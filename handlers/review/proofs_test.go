package review_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/evidence"
)

// picture is a small PNG; where width is not 0, it says that it is 256 times as wide and as high.
func picture(t *testing.T, width byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	raw := b.Bytes()
	if width > 0 {
		raw[18], raw[22] = width, width // of the header, whose sum follows
		binary.BigEndian.PutUint32(raw[29:], crc32.ChecksumIEEE(raw[12:29]))
	}
	return string(raw)
}

// Beside each criterion stands what proves it, of which commit: pictures as such, the beginnings of texts. Nothing
// that a proof holds or is called runs in the page, or where it is looked at.
func TestProofsStandBesideTheirCriteria(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	ada := d.Agent("ada")
	needed := true
	d.Job("Work", func(n *jobs.New) {
		n.Acceptance, n.ReviewOverride = []string{"It adds.", "It is fast.", "It is told."}, &needed
	})
	j := d.Claim(ada)
	const hostile = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>`
	contents := []struct{ title, criterion, text, kind string }{
		{"1.png", "It adds.", picture(t, 0), "image/png"},
		{"1-report.txt", "It adds.", "3 tests pass\n" + strings.Repeat("é", 3000), "text/plain; charset=utf-8"},
		{"2.svg", "It is fast.", hostile, "text/plain; charset=utf-8"},
		{`2"><script>alert(1)</script>.html`, "It is fast.", "<html>" + hostile, "text/plain; charset=utf-8"},
		{"2-huge.png", "It is fast.", picture(t, 0x7f), "application/octet-stream"},
		{"2.bin", "It is fast.", "\x00\x01\x02", "application/octet-stream"},
	}
	var proofs []evidence.Proof
	for _, c := range contents {
		put, _, err := d.Blobs.Put(t.Context(), ada, strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		proofs = append(proofs, evidence.Proof{Criterion: c.criterion, Commit: "9be04d1a3c", Blob: put.Sum.String(), Title: c.title})
		answer := d.Get("/blobs/" + put.Sum.String() + "/view")
		handlertest.WantStatus(t, answer, http.StatusOK)
		if got := answer.Header.Get("Content-Type"); got != c.kind {
			t.Errorf("%s is %s, not %s", c.title, got, c.kind)
		}
		isAttached := answer.Header.Get("Content-Disposition") != ""
		if policy := answer.Header.Get("Content-Security-Policy"); isAttached != (c.kind == "application/octet-stream") ||
			!isAttached && policy != "default-src 'none'; frame-ancestors 'none'; sandbox" {
			t.Errorf("%s comes with %v", c.title, answer.Header)
		}
	}
	done, err := d.Dispatch.Complete(t.Context(), ada, lease.Ref{Job: j.Key, Epoch: j.Epoch},
		report.Completion{Commit: "9be04d1a3c", Proofs: proofs, ProofError: "It ended with status 2. <b>"})
	if err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Get("/review?job="+j.Key), http.StatusOK)
	criterion := func(doc *goquery.Document, n int) *goquery.Selection { return doc.Find(".acc > li").Eq(n) }
	if first := criterion(doc, 0); first.Find(".acc-p li").Length() != 2 || first.Find(`img[src="/blobs/`+proofs[0].Blob+`/view"]`).Length() != 1 ||
		!strings.Contains(first.Find("pre").Text(), "3 tests pass") || !strings.HasSuffix(first.Find("pre").Text(), "é…") || !strings.Contains(first.Text(), "of 9be04d1") {
		t.Errorf("beside the first stands %s", first.Text())
	}
	if second := criterion(doc, 1); second.Find(".acc-p > li").Length() != 4 || !strings.Contains(second.Find("pre").Text(), "<script>") ||
		criterion(doc, 2).Find(".acc-p").Length() != 0 {
		t.Errorf("beside the second stands %s", second.Text())
	}
	handlertest.WantCount(t, doc, ".acc script, .acc svg:not(.i), .acc-p [onload]", 0)
	handlertest.WantText(t, doc, "#proof-error", "It ended with status 2. <b>")
	handlertest.WantCount(t, doc, "#review-findings", 0)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/"+j.Key), http.StatusOK), ".acc-p", "1-report.txt of 9be04d1")

	if _, err := d.Jobs.Patch(t.Context(), d.Owner, j.Key, jobs.Patch{Version: done.Version, Spec: jobs.Spec{Acceptance: []string{"It is fast."}},
		Set: []string{"acceptance"}}); err != nil {
		t.Fatal(err)
	}
	doc = handlertest.Page(t, d.Get("/review?job="+j.Key), http.StatusOK)
	handlertest.WantText(t, doc, ".rv-acc", "Proofs of criteria that have changed since:1.png of 9be04d1: It adds.")
}
