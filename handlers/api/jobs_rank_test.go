package api_test

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// A person says which job comes first, and claims give it first.
func TestClaimsGiveJobsInTheOrderThatAPersonWants(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	first, second, third := w.job("first"), w.job("second"), w.job("third")
	urgent := w.job("urgent", object{"priority": 9})
	ranked := w.as(w.owner, "PUT", "/jobs/"+third+"/rank", object{"before": first}).want(200)
	if again := w.as(w.owner, "GET", "/jobs/"+third, nil).want(200); again.number("version") != 2 ||
		again.number("version") != ranked.number("version") || again.text("updated_at") != ranked.text("updated_at") {
		t.Errorf("answered %s, read %s", ranked.raw, again.raw)
	}
	w.as(w.owner, "PUT", "/jobs/"+second+"/rank", object{"after": third}).want(200)
	w.as(w.owner, "PUT", "/jobs/"+first+"/rank", object{"before": third}).want(200)
	w.as(w.owner, "PUT", "/jobs/"+first+"/rank", object{}).want(200)
	w.as(w.owner, "PUT", "/jobs/"+third+"/rank", object{"after": urgent}).want(409).refused(fault.OtherOrder)
	w.as(w.owner, "PUT", "/jobs/"+third+"/rank", object{"after": first, "before": second}).want(422).refused(fault.Validation, "after")
	w.as(w.owner, "PUT", "/jobs/"+third+"/rank", object{"after": "FB-999"}).want(404).refused(fault.NotFound)
	agent := w.agent("ada", object{"max_concurrent_jobs": 9})
	w.as(agent, "PUT", "/jobs/"+third+"/rank", object{"before": first}).want(403).refused(fault.Forbidden)
	var got []string
	for range 4 {
		got = append(got, w.as(agent, "POST", "/fleet/claim", object{}).want(200).text("jobs", 0, "key"))
	}
	if want := []string{urgent, third, second, first}; !slices.Equal(got, want) {
		t.Errorf("claims gave %v; want %v", got, want)
	}
}
