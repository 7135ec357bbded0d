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
func (w *Workspace) Logged(e eventlog.Event) {
	w.t.Helper()
	if e.Actor == (tenancy.Actor{}) {
		e.Actor = tenancy.Actor{Kind: tenancy.KindSystem, Name: "reaper"}
	}
	err := w.DB.In(w.t.Context(), db.Workspace(w.Workspace), func(tx db.Tx) error {
		return eventlog.AppendTx(w.t.Context(), tx, w.Workspace, e)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// Timeline reads the page once it shows n events: a transaction that runs
// anywhere on the server keeps back what came after it.
func (w *Workspace) Timeline(path string, n int) *goquery.Document {
	w.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	shown := 0
	for range 20 * int(Patience/time.Second) {
		doc := Page(w.t, w.Get(path), http.StatusOK)
		if shown = doc.Find("[data-event]").Length(); shown == n {
			return doc
		}
		<-tick.C
	}
	w.t.Fatalf("%s shows %d events; want %d", path, shown, n)
	return nil
}
