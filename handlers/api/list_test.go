package api_test

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// An agent's attempts are those that the jobs list, with their usage and what the
// lease of the last one knows.
func TestTheAttemptsOfAnAgent(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bob := w.agent("ada"), w.agent("bob")
	for i, verb := range []string{"complete", "fail", "release", "fail", "complete"} {
		w.job("one", object{"key": fmt.Sprintf("K-%d", i), "max_retries": 0})
		more := map[string]object{"complete": {"result": object{"n": i}}, "fail": {"error": "boom", "retryable": false}, "release": {"reason": "lunch"}}
		w.as(ada, "POST", "/fleet/"+verb, merge(w.claim(ada), more[verb])).want(200)
		if verb == "release" {
			w.as(bob, "POST", "/fleet/complete", w.claim(bob)).want(200)
		}
	}
	w.job("live", object{"key": "K-9"})
	lease := w.claim(ada)
	w.as(ada, "POST", "/fleet/progress", merge(lease, object{"progress_percent": 40, "current_step": "tests", "checkpoint": object{"at": 1}})).want(200)
	w.as(ada, "POST", "/fleet/usage", object{"entries": []object{merge(lease, object{"id": "e1", "provider": "p", "model": "m", "input_tokens": 7, "output_tokens": 0,
		"at": "2026-03-01T00:00:00Z"})}}).want(200)

	for query, want := range map[string]string{
		"": "K-9 K-4 K-3 K-2 K-1 K-0", "outcome=failed": "K-3 K-1", "outcome=completed": "K-4 K-0", "outcome=released": "K-2", "outcome=lost": "",
		"outcome=": "K-9 K-4 K-3 K-2 K-1 K-0",
	} {
		for _, limit := range []int{1, 2, 200} {
			if got := w.names(ada, fmt.Sprintf("/agents/ada/attempts?limit=%d&%s", limit, query), "job", "cursor", "next_cursor"); got != want {
				t.Errorf("%s, %d a page: %q; want %q", query, limit, got, want)
			}
		}
	}
	if got := w.names(w.owner, "/agents/bob/attempts?limit=1", "job", "cursor", "next_cursor"); got != "K-2" {
		t.Errorf("bob's: %s", got)
	}
	all := w.as(w.owner, "GET", "/agents/ada/attempts", nil).want(200)
	for i := range all.count("items") {
		of := w.as(w.owner, "GET", "/jobs/"+all.text("items", i, "job")+"/attempts", nil).want(200)
		same := func(other any) bool { return reflect.DeepEqual(other, all.at("items", i)) }
		if list, _ := of.at("items").([]any); !slices.ContainsFunc(list, same) {
			t.Errorf("the agent's attempt %v; the job's %s", all.at("items", i), of.raw)
		}
	}
	if all.number("items", 0, "progress_percent") != 40 || all.number("items", 0, "usage", "input_tokens") != 7 {
		t.Errorf("the live attempt: %v", all.at("items", 0))
	}
	w.as(w.owner, "GET", "/agents/nobody/attempts", nil).want(404).refused(fault.NotFound)
	w.as(w.owner, "GET", "/agents/ada/attempts?outcome=bored", nil).want(422).refused(fault.Validation, "outcome")
	w.as(w.owner, "GET", "/agents/ada/attempts?cursor=x", nil).want(422).refused(fault.Validation, "cursor")
	w.as(w.enrolment, "GET", "/agents/ada/attempts", nil).want(403).refused(fault.Forbidden)
}

func TestJobsAreSorted(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for i, priority := range []int{3, 9, 3, 1} {
		w.job("job", object{"key": fmt.Sprintf("K-%d", i), "priority": priority})
	}
	dbfactory.Exec(t, w.db, `UPDATE job SET updated_at = now() + interval '1 hour' WHERE key = 'K-2'`)
	dbfactory.Exec(t, w.db, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory) SELECT workspace_id, id, 1, 'ada', 'desk' FROM job`)
	dbfactory.Exec(t, w.db, `INSERT INTO job_usage SELECT workspace_id, id, 1, 1, 0, 0, 0, 0, 0, 0, 0, priority FROM job WHERE key <> 'K-2'`)
	cursors := map[string]string{}
	for query, want := range map[string]string{
		"sort=created": "K-3 K-2 K-1 K-0", "sort=age": "K-0 K-1 K-2 K-3", "sort=updated": "K-2 K-3 K-1 K-0", "sort=cost": "K-1 K-0 K-3 K-2",
		"sort=priority&ready_only=true": "K-1 K-0 K-2 K-3", "sort=priority&status=ready&status=waiting": "K-1 K-0 K-2 K-3",
	} {
		if got := w.names(w.owner, "/jobs?limit=1&"+query, "key", "cursor", "next_cursor"); got != want {
			t.Errorf("%s: %q; want %q", query, got, want)
		}
		cursors[query] = w.as(w.owner, "GET", "/jobs?limit=1&"+query, nil).want(200).text("next_cursor")
	}
	w.as(w.owner, "GET", "/jobs?sort=age&cursor="+url.QueryEscape(cursors["sort=updated"]), nil).want(422).refused(fault.Validation, "cursor")
	w.as(w.owner, "GET", "/jobs?cursor="+url.QueryEscape(cursors["sort=created"]), nil).want(200)
	for _, query := range []string{"sort=mood", "sort=priority", "sort=priority&status=ready&status=failed"} {
		w.as(w.owner, "GET", "/jobs?"+query, nil).want(422).refused(fault.Validation, "sort")
	}
}

func TestPartsOfJobs(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	key := w.job("job", object{"body": "long", "tags": []string{"a"}})
	whole, _ := w.as(w.owner, "GET", "/jobs", nil).want(200).at("items", 0).(object)
	for _, fields := range []string{"title", "id,key", "key", "status,tags,lease,not_before,result,title,title", strings.Join(jobFields(), ",")} {
		want := object{"id": whole["id"], "key": key}
		for _, name := range strings.Split(fields, ",") {
			want[name] = whole[name]
		}
		got := w.as(w.owner, "GET", "/jobs?fields="+fields, nil).want(200)
		if !reflect.DeepEqual(got.at("items", 0), any(want)) || got.text("next_cursor") != "" {
			t.Errorf("%s: %s", fields, got.raw)
		}
	}
	for query, field := range map[string]string{"fields=title,tittle": "fields[1]", "fields=": "fields[0]", "fields=usage": "fields[0]"} {
		refusal := w.as(w.owner, "GET", "/jobs?"+query, nil).want(422).refused(fault.Validation, field)
		if told := refusal.text("fields", field); !strings.Contains(told, "merged_commit") {
			t.Errorf("%s: %q does not name what is possible", query, told)
		}
	}
	w.as(w.owner, "GET", "/jobs?fields=title&fields=body", nil).want(400).refused(fault.Malformed, "fields")
}

// The fields that a call may select are those that a list has of a job.
func TestTheFieldsOfJobsAreAllNamed(t *testing.T) {
	t.Parallel()
	var names []string
	for name := range described.doc.Components.Schemas["Job"].Value.Properties {
		if !slices.Contains(beside, name) {
			names = append(names, name)
		}
	}
	fields := jobFields()
	slices.Sort(names)
	slices.Sort(fields)
	if !slices.Equal(names, fields) {
		t.Errorf("a job has %v; %v can be asked for", names, fields)
	}
}

func jobFields() (names []string) {
	for _, name := range described.doc.Components.Schemas["JobField"].Value.Enum {
		names = append(names, fmt.Sprint(name))
	}
	return names
}
