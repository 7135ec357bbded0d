package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// A proof is of the commit that is handed in, of a criterion of the job, and a content that the agent has put under
// this lease; what is not is refused with the field and what it must be, and changes nothing.
func TestProofsFitTheWork(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bob := w.agent("ada"), w.agent("bob")
	earlier := w.putBlob(ada, "of another job").want(201).text("sha256")
	theirs := w.putBlob(bob, "of bob").want(201).text("sha256")
	key := w.job("Work", object{"acceptance": []string{"It adds.", "It is fast."}})
	lease := w.claim(ada)
	report := w.putBlob(ada, "3 tests pass").want(201).text("sha256")
	proof := func(change object) object {
		return merge(object{"criterion": "It adds.", "commit": "abc1234", "blob": report, "title": "1-report.txt"}, change)
	}
	ending := func(over object, list ...object) object {
		return merge(lease, merge(object{"commit": "abc1234", "proofs": list}, over))
	}
	for name, c := range map[string]struct {
		body        object
		code        fault.Code
		field, must string
	}{
		"another commit":    {ending(nil, proof(nil), proof(object{"commit": "def5678"})), fault.ProofRefused, "proofs[1].commit", "the commit that is handed in, abc1234."},
		"no commit":         {ending(object{"commit": ""}, proof(nil)), fault.ProofRefused, "proofs[0].commit", "and none is."},
		"another criterion": {ending(nil, proof(object{"criterion": "it adds."})), fault.ProofRefused, "proofs[0].criterion", "one of the job's acceptance criteria"},
		"nowhere":           {ending(nil, proof(object{"blob": sumOf("nothing")})), fault.ProofRefused, "proofs[0].blob", "put with PUT /blobs under this lease"},
		"another agent's":   {ending(nil, proof(object{"blob": theirs})), fault.ProofRefused, "proofs[0].blob", "under this lease"},
		"of before":         {ending(nil, proof(object{"blob": earlier})), fault.ProofRefused, "proofs[0].blob", "under this lease"},
		"no SHA-256":        {ending(nil, proof(object{"blob": "x"})), fault.Validation, "proofs[0].blob", ""},
		"too many":          {ending(nil, repeat(proof(nil), 51)...), fault.Validation, "proofs", ""},
		"a long title":      {ending(nil, proof(object{"title": strings.Repeat("x", 201)})), fault.Validation, "proofs[0].title", ""},
		"two lines":         {ending(nil, proof(object{"title": "a\nb"})), fault.Validation, "proofs[0].title", ""},
	} {
		refused := w.as(ada, "POST", "/fleet/complete", c.body).want(422)
		refused.refused(c.code, c.field)
		if got := refused.text("fields", c.field); !strings.Contains(got, c.must) {
			t.Errorf("%s: it says %q", name, got)
		}
	}
	if job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); job.text("status") != "assigned" {
		t.Errorf("it is %s", job.raw)
	}
	second := w.putBlob(ada, "of another job").want(200).text("sha256") // which is one of this job too, now
	done := ending(object{"result": object{"proofs": "mine", "proof_error": "mine"}}, proof(nil), proof(object{"criterion": "It is fast.", "blob": second}))
	for range 2 {
		w.as(ada, "POST", "/fleet/complete", done).want(200)
	}
	job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if job.count("result", "proofs") != 2 || job.text("result", "proofs", 0, "criterion") != "It adds." || job.text("result", "proofs", 0, "commit") != "abc1234" ||
		job.text("result", "proofs", 0, "blob") != report || job.text("result", "proofs", 0, "title") != "1-report.txt" || strings.Contains(string(job.raw), "mine") {
		t.Errorf("the job has %s", job.raw)
	}
	w.as(bob, "GET", "/blobs/"+report, nil).want(200)
}

// Work whose proof command failed is handed in, with what it said.
func TestWorkWithoutProofsIsHandedIn(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.as(w.owner, "PUT", "/products/books", object{"repos": []string{"atlas"}, "proof_command": "make proof"}).want(201)
	key := w.job("Work", object{"repo": "atlas", "acceptance": []string{"It adds."}})
	claimed := w.as(ada, "POST", "/fleet/claim", object{}).want(200)
	if got := claimed.text("jobs", 0, "proof_command"); got != "make proof" {
		t.Errorf("the claim says %q", got)
	}
	lease := object{"job": key, "epoch": claimed.number("jobs", 0, "lease", "epoch")}
	w.as(ada, "POST", "/fleet/complete", merge(lease, object{"proof_error": strings.Repeat("x", 4001)})).want(422).refused(fault.Validation, "proof_error")
	w.as(ada, "POST", "/fleet/complete", merge(lease, object{"commit": "abc1234", "proof_error": "It ended with status 2."})).want(200)
	job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if job.text("result", "proof_error") != "It ended with status 2." || strings.Contains(string(job.raw), "proof_command") {
		t.Errorf("the job has %s", job.raw)
	}
	w.job("Other")
	if other := w.as(ada, "POST", "/fleet/claim", object{}).want(200); strings.Contains(string(other.raw), "proof_command") {
		t.Errorf("a job of another product is %s", other.raw)
	}
}

func repeat(o object, n int) (list []object) {
	for range n {
		list = append(list, o)
	}
	return list
}

// A commit that holds a secret is kept without it, in the work and in its proofs.
func TestAProofKeepsNoSecret(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, secret := w.agent("ada"), secretMark+"-a-long-one-"+secretMark
	key := w.job("Secret", object{"input_context": object{"token": secret}, "secret_keys": []string{"token"}, "acceptance": []string{"It works."}})
	lease := w.claim(ada)
	blob := w.putBlob(ada, "3 tests pass").want(201).text("sha256")
	w.as(ada, "POST", "/fleet/complete", merge(lease, object{"commit": secret, "proof_error": secret,
		"proofs": []object{{"criterion": "It works.", "commit": secret, "blob": blob, "title": secret}}})).want(200)
	if job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); job.text("result", "proofs", 0, "commit") != "[secret]" || job.text("result", "proof_error") != "[secret]" {
		t.Errorf("the job has %s", job.raw)
	}
	w.keepsNone()
}
