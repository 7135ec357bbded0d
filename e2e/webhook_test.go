package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// The pages of a webhook with a delivery that failed fit at every width and have no accessibility fault
// in either theme, however long its names are.
func TestThePagesOfAWebhookFitAndHaveNoFault(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatalf("run tools/ensure-test-deps.sh: %v", err)
	}
	s := startServer(t)
	product := long("product")
	if answer, err := s.owner().PutProductWithResponse(t.Context(), product, api.ProductSettings{}); err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("make a product: %v", err)
	}
	// A name that the DNS never has: nobody is asked but the resolver.
	made, err := s.owner().CreateWebhookWithResponse(t.Context(), api.NewWebhook{URL: "https://" + strings.ReplaceAll(long("host"), "_", "-") + ".invalid/" + long("path"),
		Types: &[]string{"job.pull_request_opened", "webhook.secret_rotated"}, Products: &[]string{product}})
	if err != nil || made.JSON201 == nil {
		t.Fatalf("make a webhook: %v %s", err, made.Body)
	}
	id := made.JSON201.Webhook.ID
	if answer, err := s.owner().TestWebhookWithResponse(t.Context(), id); err != nil || answer.JSON200 == nil {
		t.Fatalf("send a test: %v", err)
	}
	s.awaitFailed(id)
	for _, width := range []int{360, 768, 1440} {
		for _, theme := range []string{"light", "dark"} {
			t.Run(fmt.Sprintf("%d-%s", width, theme), func(t *testing.T) {
				t.Parallel()
				v := s.in(t).visit(look{theme: theme, width: width, height: 900})
				v.logIn()
				for _, path := range []string{"/settings/webhooks", "/settings/webhooks/" + id, "/settings/webhooks/" + id + "/edit"} {
					v.open(path)
					name := fmt.Sprintf("webhook-%s-%d-%s", strings.ReplaceAll(path, "/", "-"), width, theme)
					v.wantFit(name)
					v.checkAxe(string(script), name)
				}
			})
		}
	}
}

// awaitFailed waits until a test of a webhook has failed.
func (s *server) awaitFailed(id string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	failed := api.DeliveryStatusFailed
	for {
		page, err := s.owner().ListWebhookDeliveriesWithResponse(ctx, id, &api.ListWebhookDeliveriesParams{Status: &failed})
		if err == nil && page.JSON200 != nil && len(page.JSON200.Items) == 1 {
			return
		}
		if signal.Sleep(ctx, 100*time.Millisecond) != nil {
			s.t.Fatalf("the test of a webhook has not failed: %v", err)
		}
	}
}
