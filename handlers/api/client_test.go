package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/handlers/api/apiclient"
)

// TestGeneratedClient does the main job through the client that is generated
// from the description.
func TestGeneratedClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := func(token string) *apiclient.ClientWithResponses {
		c, err := apiclient.NewClientWithResponses(w.url+api.BasePath, apiclient.WithRequestEditorFn(
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

	created, err := client(w.owner).CreateJobWithResponse(ctx, nil, apiclient.NewJob{Title: "By the client"})
	if err != nil || created.JSON201 == nil {
		t.Fatalf("create: %v %s", err, created.Body)
	}
	registered, err := client(w.enrolment).RegisterAgentWithResponse(ctx, "ada", apiclient.Registration{BootID: "b1",
		Factory: apiclient.FactoryInfo{Name: "host"}})
	if err != nil || registered.JSON200 == nil {
		t.Fatalf("register: %v %s", err, registered.Body)
	}
	agent := client(registered.JSON200.Token)
	claimed, err := agent.ClaimJobsWithResponse(ctx, apiclient.ClaimRequest{})
	if err != nil || claimed.JSON200 == nil || claimed.JSON200.Jobs[0].Key != created.JSON201.Key {
		t.Fatalf("claim: %v %s", err, claimed.Body)
	}
	lease := claimed.JSON200.Jobs[0].Lease
	commit := "abc"
	done, err := agent.CompleteJobWithResponse(ctx, apiclient.Completion{Job: created.JSON201.Key, Epoch: lease.Epoch, Commit: &commit})
	if err != nil || done.JSON200 == nil || done.JSON200.Status != apiclient.JobStatusCompleted {
		t.Fatalf("complete: %v %s", err, done.Body)
	}
	refused, err := agent.StartJobWithResponse(ctx, apiclient.LeaseRef{Job: created.JSON201.Key, Epoch: lease.Epoch})
	if err != nil || refused.ApplicationProblemJSONDefault == nil ||
		refused.ApplicationProblemJSONDefault.Code != apiclient.ProblemCodeAlreadyEnded {
		t.Fatalf("start: %v %s", err, refused.Body)
	}
}
