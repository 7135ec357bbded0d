package api_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// byWhom returns the actors of a list of events, each as "type kind id name".
func byWhom(a answer) (list []string) {
	items, _ := a.at("items").([]any)
	for _, item := range items {
		e, _ := item.(object)
		list = append(list, fmt.Sprintf("%s %s %s %s", e["type"], e["actor_kind"], e["actor_id"], e["actor"]))
	}
	return list
}

// log reads the log until it holds what is wanted: a transaction that runs anywhere
// on the server keeps back what came after it.
func (w *apiServer) log(query string, want []string) {
	w.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var got []string
	for range 600 {
		if got = byWhom(w.as(w.owner, "GET", "/events?"+query, nil).want(200)); slices.Equal(got, want) {
			return
		}
		<-tick.C
	}
	w.t.Errorf("%s: %q; want %q", query, got, want)
}

// An event names who did it by kind and id, which stay, and by the name of then.
func TestEventsNameWhoDidThemForGood(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	account, guest := w.guest()
	dbfactory.Exec(t, w.db, `UPDATE membership SET role = 'member' WHERE account_id = $1`, account)
	dbfactory.Exec(t, w.db, `UPDATE account SET name = 'reaper' WHERE id = $1`, account)
	owner := w.person()
	ada := w.agent("ada")
	agent := w.as(w.owner, "GET", "/agents/ada", nil).want(200).text("id")

	key := w.as(guest, "POST", "/jobs", object{"title": "Alpha"}).want(201).text("key")
	lease := w.claim(ada)
	w.as(ada, "POST", "/fleet/start", lease).want(200)
	w.as(ada, "POST", "/fleet/progress", merge(lease, object{"progress_percent": 5})).want(200)
	w.as(ada, "POST", "/fleet/complete", lease).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/archive", nil).want(200)
	got := byWhom(w.as(w.owner, "GET", "/jobs/"+key+"/events", nil).want(200))
	slices.Reverse(got)
	person, machine := "person "+account.String()+" reaper", "agent "+agent+" ada"
	want := []string{"job.created " + person, "job.claimed " + machine, "job.started " + machine, "job.progressed " + machine,
		"job.completed " + machine, "job.archived person " + owner.Account.String() + " " + owner.Name}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	// The same one under another name is found by the id, by the name what was done under it.
	dbfactory.Exec(t, w.db, `UPDATE account SET name = 'Ada' WHERE id = $1`, account)
	second := w.as(guest, "POST", "/jobs", object{"title": "Beta"}).want(201).text("key")
	for actor, want := range map[string][]string{
		account.String(): {"job.created " + person, "job.created person " + account.String() + " Ada"},
		"Ada":            {"job.created person " + account.String() + " Ada"},
		"reaper":         {"job.created " + person},
	} {
		w.log("type=job.*&actor="+actor, want)
	}
	w.log("job="+second, []string{"job.created person " + account.String() + " Ada"})
	w.log("job="+second+"&actor="+owner.Account.String(), nil)
	var unknown, enrolled int
	err := dbtest.Owner(t, w.db).QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE e.actor_id = ''),
		count(*) FILTER (WHERE e.type = 'agent.registered' AND e.actor_kind = 'enrolment' AND e.actor_id = k.id::text)
		FROM event e LEFT JOIN access_token k ON k.id::text = e.actor_id`).Scan(&unknown, &enrolled)
	if err != nil || unknown > 0 || enrolled != 1 {
		t.Errorf("%d events do not say who it was, %d name the token that registered (%v)", unknown, enrolled, err)
	}
}
