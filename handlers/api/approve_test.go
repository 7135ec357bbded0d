package api_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// judging returns the calls by which a person judges work, with bodies that would
// be accepted.
func judging(version int) map[string]object {
	return map[string]object{
		"approve": {"head": "9be04d1"}, "reject": {"reason": "no"}, "merge": {"commit": "9be04d1"}, "merge-failed": {"reason": "conflicts"},
		"answer": {"answer": "48 hours"}, "unblock": nil, "cancel": {"reason": "no"}, "archive": nil, "retry": nil, "release": {"reason": "no"},
		"": {"version": version, "acceptance_met": []bool{true}},
	}
}

// Nobody judges their own work: the token of an agent, even of the one that
// handed the job in, can neither approve nor reject nor merge, nor tick the
// criteria, in any status. Nothing is changed and nothing is recorded. The token
// that registers agents can as little.
func TestAgentsCannotApprove(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	for name, bring := range map[string]func(string, object){
		"in review": func(string, object) {},
		"approved":  func(key string, _ object) { w.as(w.owner, "POST", "/jobs/"+key+"/approve", nil).want(200) },
		"completed": func(key string, _ object) {
			w.as(w.owner, "POST", "/jobs/"+key+"/approve", nil).want(200)
			w.as(w.owner, "POST", "/jobs/"+key+"/merge", nil).want(200)
		},
		"failed": func(key string, _ object) {
			w.as(w.owner, "POST", "/jobs/"+key+"/cancel", object{"reason": "no"}).want(200)
		},
	} {
		key := w.job(name, object{"review_required": true, "acceptance": []string{"It is so"}})
		lease := w.claim(ada)
		w.as(ada, "POST", "/fleet/complete", merge(lease, object{"commit": "9be04d1"})).want(200)
		bring(key, lease)
		w.untouched(key, map[string]string{"the agent": ada, "the enrolment": w.enrolment})
	}
}

// untouched makes every judging call with tokens that may not, and compares the
// job and its events with those before.
func (w *apiServer) untouched(key string, tokens map[string]string) {
	w.t.Helper()
	state := func() string {
		return dbfactory.Text(w.t, w.db, `SELECT j.status || ' ' || j.version || ' ' || t.acceptance_met::text || ' ' ||
			(SELECT count(*) FROM event e WHERE e.job_id = j.id) FROM job j JOIN job_text t ON t.job_id = j.id WHERE j.key = $1`, key)
	}
	before := state()
	version := dbfactory.Int(w.t, w.db, `SELECT version FROM job WHERE key = $1`, key)
	for who, token := range tokens {
		for verb, body := range judging(version) {
			method, path := "POST", "/jobs/"+key+"/"+verb
			if verb == "" {
				method, path = "PATCH", "/jobs/"+key
			}
			var sent any
			if body != nil {
				sent = body
			}
			w.as(token, method, path, sent).want(403).refused(fault.Forbidden)
			if now := state(); now != before {
				w.t.Errorf("%s of %s by %s: it was %q and is %q", verb, key, who, before, now)
			}
		}
	}
}
