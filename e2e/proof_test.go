package e2e

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// A person sees beside each criterion what proves it: the picture, and the beginning of the report, of the commit.
// Looked at by itself, nothing in a proof runs.
func TestAPersonSeesProofsBesideTheirCriteria(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ada := s.agent("ada")
	submitForReview(t, s, api.NewJob{Title: "Draw the chart", Acceptance: &[]string{"It draws a chart.", "It passes its tests."}})
	job := claimed(t, ada)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 40, 20))); err != nil {
		t.Fatal(err)
	}
	const hostile = `<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = "ran"</script></svg>`
	put := func(content string) string {
		answer, err := ada.PutBlobWithBodyWithResponse(t.Context(), "application/octet-stream", strings.NewReader(content))
		if err != nil || answer.JSON201 == nil {
			t.Fatalf("put: %v %s", err, body(answer))
		}
		return answer.JSON201.Sha256
	}
	commit := "9be04d1f00"
	drawn, report, svg := put(picture.String()), put("3 tests pass"), put(hostile)
	answer, err := ada.CompleteJobWithResponse(t.Context(), api.Completion{Job: job.Key, Epoch: job.Lease.Epoch, Commit: &commit, Proofs: &[]api.CompletionProof{
		{Criterion: "It draws a chart.", Commit: commit, Blob: drawn, Title: number("1-chart.png")},
		{Criterion: "It passes its tests.", Commit: commit, Blob: report, Title: number("2-report.txt")},
		{Criterion: "It passes its tests.", Commit: commit, Blob: svg, Title: number("2.svg")},
	}})
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("complete: %v %s", err, body(answer))
	}
	v := s.visit(desktop)
	v.logIn()
	v.open("/review?job=" + job.Key)
	v.sees(`.acc > li:has-text("It draws a chart.") .acc-p:has-text("1-chart.png of 9be04d1")`)
	v.sees(`.acc > li:has-text("It passes its tests.") pre:has-text("3 tests pass")`)
	v.sees(`.acc > li:has-text("It passes its tests.") pre:has-text("document.title")`)
	width, err := v.tab.Locator(`.acc > li:has-text("It draws a chart.") img`).Evaluate(
		"async (img) => { img.loading = 'eager'; await img.decode(); return img.naturalWidth }", nil)
	if err != nil || width != 40 {
		t.Errorf("the picture is %v wide, %v", width, err)
	}
	for _, w := range []int{390, 1440} {
		p := s.visit(look{theme: "dark", width: w, height: 900})
		p.logIn()
		p.open("/review?job=" + job.Key)
		p.wantFit("proofs")
	}
	v.open("/blobs/" + svg + "/view")
	if title, err := v.tab.Title(); err != nil || title == "ran" {
		t.Errorf("the proof ran: %q, %v", title, err)
	}
}
