package handlertest

import (
	"net/http"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Logged writes a fact as the server would.
func (d *Desk) Logged(e eventlog.Event) {
	d.t.Helper()
	if e.Actor == (tenancy.Actor{}) {
		e.Actor = tenancy.Actor{Kind: tenancy.KindSystem, Name: "reaper"}
	}
	err := d.DB.In(d.t.Context(), db.Workspace(d.Workspace), func(tx db.Tx) error {
		return eventlog.AppendTx(d.t.Context(), tx, d.Workspace, e)
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

// Timeline reads the page once it shows n events: a transaction that runs
// anywhere on the server keeps back what came after it.
func (d *Desk) Timeline(path string, n int) *goquery.Document {
	d.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	shown := 0
	for range 20 * int(Patience/time.Second) {
		doc := Page(d.t, d.Get(path), http.StatusOK)
		if shown = doc.Find("[data-event]").Length(); shown == n {
			return doc
		}
		<-tick.C
	}
	d.t.Fatalf("%s shows %d events; want %d", path, shown, n)
	return nil
}
