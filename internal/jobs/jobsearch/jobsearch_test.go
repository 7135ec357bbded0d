package jobsearch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Jobs are found by words of all their texts as they are now, and only in their workspace.
func TestJobsAreFoundByTheirWords(t *testing.T) {
	w := jobstest.New(t)
	s := jobsearch.New(w.DB)
	w.NewJobs(jobs.New{Spec: jobs.Spec{Title: "Drain a factory", Body: "Leases end by themselves."}},
		jobs.New{Spec: jobs.Spec{Title: "Port the cache", Body: "After the drain."}})
	jobstest.IndexTexts(t, w.DB)
	find := func(who tenancy.Principal, words string) string {
		t.Helper()
		list, err := s.Find(t.Context(), who, words, 10)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, f := range list {
			keys = append(keys, f.Key)
		}
		return strings.Join(keys, " ")
	}
	for words, want := range map[string]string{
		"drain": "FB-1 FB-2", `"drain a factory"`: "FB-1", `"factory drain"`: "", "leas": "FB-1", "factory leases": "FB-1", "fb": "FB-1 FB-2", "absent": "",
	} {
		got := strings.Fields(find(w.Who, words))
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s finds %v, want %s", words, got, want)
		}
	}
	title, body := "Empty a factory", "They run out."
	job, err := w.Jobs.Get(t.Context(), w.Who, "FB-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Jobs.Patch(t.Context(), w.Who, "FB-1", jobs.Patch{Version: job.Version, Spec: jobs.Spec{Title: title, Body: body},
		Set: []string{"title", "body"}}); err != nil {
		t.Fatal(err)
	}
	jobstest.IndexTexts(t, w.DB)
	for words, want := range map[string]string{"drain": "FB-2", "empty": "FB-1", "leases": "", "out": "FB-1"} {
		if got := find(w.Who, words); got != want {
			t.Errorf("after the change %s finds %s, want %s", words, got, want)
		}
	}
	stranger := dbfactory.Person(dbfactory.Workspace(t, w.DB), tenancy.RoleOwner)
	if got := find(stranger, "drain"); got != "" {
		t.Errorf("a stranger finds %s", got)
	}
	list, err := s.Find(t.Context(), w.Who, "drain", 10)
	if err != nil || len(list) != 1 || !strings.Contains(list[0].Passage, "\x02drain\x03") {
		t.Errorf("the passage is %+v, %v", list, err)
	}
	for _, words := range []string{"", `"!"`, strings.Repeat("x", 201)} {
		if _, err := s.Find(t.Context(), w.Who, words, 10); !fault.Is(err, fault.Validation) {
			t.Errorf("%q: %v", words, err)
		}
	}
}
