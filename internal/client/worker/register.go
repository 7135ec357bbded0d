package worker

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/fleetboard/fleetboard/api"
)

// register says who the worker is and what it offers, and takes the token that it is given.
func (w *Worker) register(ctx context.Context) error {
	if err := w.offer.look(ctx); err != nil {
		return err
	}
	factory, version := w.offer.describe()
	factory.Pool = text(w.Pool)
	beat, stale := int(w.Beat.Seconds()), max(30*int(w.Beat.Seconds()), int(w.Lease.Seconds()))
	token, err := w.present(ctx, api.Registration{BootID: w.bootID, Factory: factory,
		MaxConcurrentJobs: &w.Seats, HeartbeatIntervalSeconds: &beat, StaleAfterSeconds: &stale, Model: text(w.Model),
		Roles: some(w.Roles)})
	if err != nil {
		return err
	}
	w.setToken(token)
	w.offer.noteTold(version)
	return nil
}

// present registers with the enrolment token, or where there is a trusted issuer with the token of
// the platform, which is read anew each time: platforms replace it. It returns the agent's token.
func (w *Worker) present(ctx context.Context, r api.Registration) (string, error) {
	if w.Issuer == "" {
		answer, err := w.enrol.RegisterAgentWithResponse(ctx, w.Name, r)
		if err != nil {
			return "", err
		}
		return answer.JSON200.Token, nil
	}
	raw, err := os.ReadFile(w.IDTokenFile)
	if err != nil {
		return "", fmt.Errorf("the token of the platform: %w", err)
	}
	answer, err := w.enrol.EnrolWorkloadWithResponse(ctx, api.WorkloadEnrolment{Issuer: w.Issuer, Token: strings.TrimSpace(string(raw)),
		Agent: w.Name, Registration: r})
	if err != nil {
		return "", err
	}
	return answer.JSON200.Token, nil
}

func (w *Worker) setToken(token string) {
	w.api.SetToken(token)
	w.beats.SetToken(token)
	w.mail.api.SetToken(token)
	w.mu.Lock()
	w.token = token
	w.mu.Unlock()
}

// namesOfProducts returns the repositories that jobs may be about, as far as the server says.
func (w *Worker) namesOfProducts(ctx context.Context) (names []string) {
	var cursor string
	for {
		page, err := w.api.ListProductsWithResponse(ctx, &api.ListProductsParams{Cursor: text(cursor)})
		if err != nil {
			if ctx.Err() == nil {
				w.Log.Warn("the repositories of products are unknown: " + err.Error())
			}
			return names
		}
		for _, p := range page.JSON200.Items {
			names = append(names, p.Repos...)
		}
		if cursor = page.JSON200.NextCursor; cursor == "" {
			return names
		}
	}
}

// tellOffer sees to it that the server knows what is offered: what it gives from then on is
// within that.
func (w *Worker) tellOffer(ctx context.Context) error {
	if w.offer.isTold() {
		return nil
	}
	return w.enrolled(ctx, func() error { return w.heartbeat(ctx) })
}

// enrolled calls until the call is not refused for its token: a token that has ended is
// replaced by registering again, once.
func (w *Worker) enrolled(ctx context.Context, call func() error) error {
	err := call()
	if !api.TokenEnded(err) {
		return err
	}
	if err := w.register(ctx); err != nil {
		return err
	}
	return call()
}

// some is nil for an empty list, as the API leaves fields out.
func some(list []string) *[]string {
	if len(list) == 0 {
		return nil
	}
	return &list
}

// text is nil for "", as the API leaves fields out.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
