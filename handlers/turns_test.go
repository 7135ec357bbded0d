package handlers_test

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Whoever has used up its turns gets no further page, in words, for now; it can do what it
// does by forms, and its downloads and streams begin. A page that was answered has given its
// turn back.
func TestPagesTakeTurns(t *testing.T) {
	turns := quota.NewTurns(2)
	s := handlertest.OwnedSite(t, func(d *handlers.Deps) { d.Turns = turns })
	s.Probe()
	s.LogIn(t)
	for range 5 {
		handlertest.WantStatus(t, s.Get("/board"), http.StatusOK)
	}
	account, _ := ids.Parse(dbfactory.Text(t, s.DB, "SELECT id::text FROM account"))
	workspace, _ := ids.Parse(dbfactory.Text(t, s.DB, "SELECT id::text FROM workspace"))
	owner := tenancy.Principal{Kind: tenancy.KindPerson, Workspace: workspace, Account: account}
	turns.See(tenancy.Principal{Kind: tenancy.KindAgent, Workspace: workspace, Agent: ids.New()})
	turns.See(owner)
	turn, err := turns.Take(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	inLine, leave := context.WithCancel(t.Context())
	defer leave()
	refused := make(chan struct{}, 1)
	var line sync.WaitGroup
	for range quota.TurnLine + 1 {
		line.Go(func() {
			if _, err := turns.Take(inLine, owner); fault.Is(err, fault.TooMany) {
				refused <- struct{}{}
			}
		})
	}
	<-refused
	for _, page := range []string{"/board", "/search?q=word", "/usage", "/timeline", "/palette?q=word"} {
		res := s.Get(page)
		handlertest.WantStatus(t, res, http.StatusTooManyRequests)
		if wait, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || wait < 1 {
			t.Errorf("%s: Retry-After = %q", page, res.Header.Get("Retry-After"))
		}
	}
	handlertest.WantStatus(t, s.Post("/probe/write", nil), http.StatusNoContent)
	handlertest.WantStatus(t, s.Get("/blobs/none"), http.StatusNotFound)
	leave()
	line.Wait()
	turn.End()
	handlertest.WantStatus(t, s.Get("/board"), http.StatusOK)
}
