package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	server "github.com/fleetboard/fleetboard/handlers/api"
)

// TestGeneratedClient does the main job through the client that is generated
// from the description.
func TestGeneratedClient(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	client := func(token string) *api.ClientWithResponses {
		c, err := api.NewClientWithResponses(w.url+server.BasePath, api.WithRequestEditorFn(
			func(_ context.Context, r *http.Request) error {
				r.Header.Set("Authorization", "Bearer "+token)
				return nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ctx := t.Context()

	created, err := client(w.owner).CreateJobWithResponse(ctx, nil, api.NewJob{Title: "By the client"})
	if err != nil || created.JSON201 == nil {
		t.Fatalf("create: %v %s", err, created.Body)
	}
	registered, err := client(w.enrolment).RegisterAgentWithResponse(ctx, "ada", api.Registration{BootID: "b1",
		Factory: api.FactoryInfo{Name: "host"}})
	if err != nil || registered.JSON200 == nil {
		t.Fatalf("register: %v %s", err, registered.Body)
	}
	agent := client(registered.JSON200.Token)
	claimed, err := agent.ClaimJobsWithResponse(ctx, api.ClaimRequest{})
	if err != nil || claimed.JSON200 == nil || claimed.JSON200.Jobs[0].Key != created.JSON201.Key {
		t.Fatalf("claim: %v %s", err, claimed.Body)
	}
	lease := claimed.JSON200.Jobs[0].Lease
	commit := "abc"
	done, err := agent.CompleteJobWithResponse(ctx, api.Completion{Job: created.JSON201.Key, Epoch: lease.Epoch, Commit: &commit})
	if err != nil || done.JSON200 == nil || done.JSON200.Status != api.JobStatusCompleted {
		t.Fatalf("complete: %v %s", err, done.Body)
	}
	refused, err := agent.StartJobWithResponse(ctx, api.StartReport{Job: created.JSON201.Key, Epoch: lease.Epoch})
	if err != nil || refused.ApplicationProblemJSONDefault == nil ||
		refused.ApplicationProblemJSONDefault.Code != api.ProblemCodeAlreadyEnded {
		t.Fatalf("start: %v %s", err, refused.Body)
	}
}
