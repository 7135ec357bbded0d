package api_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantFields compares some fields of a job with what a read of it gives.
func (w *apiServer) wantFields(key, when string, want object) {
	w.t.Helper()
	got := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	for name, value := range want {
		if diff := cmp.Diff(value, got.body[name]); diff != "" {
			w.t.Errorf("%s, %s (-want +got):\n%s", when, name, diff)
		}
	}
}

// What came of a job stays with it: the files that it means to touch and those that
// it did, the approved commit, the merged one and where it is; and an attempt whose
// work was sent back says so.
func TestAJobKeepsWhatCameOfIt(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("one", object{"review_required": true, "files": []string{"b/**", "a/*.go"}})
	w.wantFields(key, "made", object{"files": []any{"a/*.go", "b/**"}, "files_touched": []any{}, "approved_head": "", "merged_commit": "",
		"url": "", "failure_kind": ""})
	w.as(w.owner, "PATCH", "/jobs/"+key, object{"version": 1, "files": []string{"c/**"}}).want(200)
	w.wantFields(key, "edited", object{"files": []any{"c/**"}})

	w.as(ada, "POST", "/fleet/fail", merge(w.claim(ada), object{"error": "red", "kind": "checks_failed", "retryable": false})).want(200)
	w.wantFields(key, "failed", object{"failure_kind": "checks_failed"})
	w.as(w.owner, "POST", "/jobs/"+key+"/retry", nil).want(200)

	handIn := object{"commit": "9be04d1", "url": "https://git.example/pr/1", "files_touched": []string{"c/d.go"}}
	first := w.claim(ada)
	w.as(ada, "POST", "/fleet/complete", merge(first, handIn)).want(200)
	w.wantFields(key, "handed in", object{"files_touched": []any{"c/d.go"}, "url": "https://git.example/pr/1", "failure_kind": "", "approved_head": ""})
	w.as(w.owner, "POST", "/jobs/"+key+"/reject", object{"reason": "no tests"}).want(200)
	w.as(ada, "POST", "/fleet/complete", merge(first, handIn)).want(200)
	w.as(ada, "POST", "/fleet/complete", merge(first, merge(handIn, object{"files_touched": []string{"c/e.go"}}))).want(409)

	w.as(ada, "POST", "/fleet/complete", merge(w.claim(ada), handIn)).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/approve", nil).want(200)
	w.wantFields(key, "approved", object{"approved_head": "9be04d1"})
	w.as(w.owner, "POST", "/jobs/"+key+"/merge-failed", object{"reason": "conflicts"}).want(200)
	w.wantFields(key, "not merged", object{"approved_head": ""})
	w.as(w.owner, "POST", "/jobs/"+key+"/approve", object{"head": "9be04d1f00"}).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/merge", object{"commit": "77aa"}).want(200)
	w.wantFields(key, "merged", object{"approved_head": "9be04d1f00", "merged_commit": "77aa", "url": "https://git.example/pr/1"})

	var outcomes []any
	for _, a := range w.as(w.owner, "GET", "/jobs/"+key+"/attempts", nil).want(200).body["items"].([]any) {
		outcomes = append(outcomes, a.(map[string]any)["outcome"])
	}
	if diff := cmp.Diff([]any{"completed", "rejected", "failed"}, outcomes); diff != "" {
		t.Errorf("outcomes of the attempts (-want +got):\n%s", diff)
	}
}

func TestFilesAndCommitsHaveLimits(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	many := make([]string, 1001)
	for i := range many {
		many[i] = "a"
	}
	w.as(w.owner, "POST", "/jobs", object{"title": "x", "files": many[:101]}).want(422)
	w.as(w.owner, "POST", "/jobs", object{"title": "x", "files": []string{strings.Repeat("a", 513)}}).want(422)
	w.as(w.owner, "POST", "/jobs", object{"title": "x", "files": []string{"a\nb"}}).want(422)
	key := w.job("one", object{"review_required": true})
	lease := w.claim(ada)
	w.as(ada, "POST", "/fleet/complete", merge(lease, object{"files_touched": many})).want(422)
	w.as(ada, "POST", "/fleet/complete", merge(lease, object{"files_touched": []string{""}})).want(422)
	w.as(ada, "POST", "/fleet/complete", merge(lease, object{"result": object{"commit": strings.Repeat("ä", 200)}})).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/approve", object{"head": strings.Repeat("a", 101)}).want(422)
	w.as(w.owner, "POST", "/jobs/"+key+"/approve", nil).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/merge", object{"url": "https://" + strings.Repeat("a", 2000)}).want(422)
	w.as(w.owner, "POST", "/jobs/"+key+"/merge", object{"commit": "a\x00b"}).want(422)
	w.as(w.owner, "POST", "/jobs/"+key+"/merge", nil).want(200)
}
