package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// permissions is who may do what. A change of x-permission has to be made here
// as well.
var permissions = map[tenancy.Permission][]string{
	tenancy.Public: {"GET /openapi.yaml", "GET /version", "POST /enrolments"},
	tenancy.SignedIn: {"DELETE /me/notifications/browsers/{browser}", "GET /coordinator/status", "GET /me/notifications", "GET /me/notifications/browsers",
		"POST /me/notifications/browsers", "POST /me/notifications/test", "PUT /me/notifications"},
	tenancy.ReadBoard: {"GET /agents", "GET /agents/{agent}", "GET /agents/{agent}/attempts", "GET /agents/{agent}/health", "GET /agents/{agent}/jobs", "GET /blobs/{blob}",
		"GET /budgets", "GET /budgets/{budget}", "GET /budgets/{budget}/ledger", "GET /budgets/{budget}/series",
		"GET /events", "GET /events/stream", "GET /factories", "GET /factories/{factory}", "GET /jobs",
		"GET /jobs/{job}", "GET /jobs/{job}/attempts", "GET /jobs/{job}/attempts/{epoch}/steps", "GET /jobs/{job}/attempts/{epoch}/steps/stream", "GET /jobs/{job}/collisions", "GET /jobs/{job}/comments", "GET /jobs/{job}/decisions", "GET /jobs/{job}/dependencies", "GET /jobs/{job}/estimate", "GET /jobs/{job}/events",
		"GET /jobs/{job}/explanation", "GET /jobs/{job}/logs", "GET /jobs/{job}/verifications", "GET /messages", "GET /messages/search", "GET /messages/threads/{thread}",
		"GET /messages/{message}", "GET /pools", "GET /pools/{pool}", "GET /pools/{pool}/demand", "GET /pools/{pool}/history", "GET /prices", "GET /prices/models", "GET /products", "GET /products/{product}", "GET /search/jobs", "GET /stats", "GET /stop",
		"GET /usage", "GET /usage/entries", "HEAD /blobs/{blob}", "POST /branches/ended", "POST /estimates", "POST /messages/ack", "POST /messages/nack", "POST /routability"},
	tenancy.AnswerQuestions: {"POST /jobs/{job}/answer"},
	tenancy.SendMessages:    {"POST /messages", "POST /messages/batch"},
	tenancy.CreateJobs:      {"POST /jobs"},
	tenancy.PutBlobs:        {"PUT /blobs"},
	tenancy.WriteJobs: {"DELETE /jobs/{job}/dependencies/{dep}", "PATCH /comments/{comment}", "PATCH /jobs/{job}", "POST /jobs/batch", "POST /jobs/bulk",
		"POST /jobs/{job}/approve", "POST /jobs/{job}/archive", "POST /jobs/{job}/block",
		"POST /jobs/{job}/cancel", "POST /jobs/{job}/comments", "POST /jobs/{job}/complete", "POST /jobs/{job}/dependencies", "POST /jobs/{job}/merge", "POST /jobs/{job}/merge-failed",
		"POST /jobs/{job}/pause", "POST /jobs/{job}/reject", "POST /jobs/{job}/release", "POST /jobs/{job}/resume",
		"POST /jobs/{job}/retry", "POST /jobs/{job}/unblock", "PUT /jobs/{job}/rank"},
	tenancy.RunFleet: {"DELETE /exports/{export}", "DELETE /factories/{factory}", "DELETE /issuers/{issuer}", "GET /coordinator/logs", "GET /dispatch/dead", "GET /exports", "GET /exports/{export}/next", "GET /issuers", "GET /issuers/{issuer}", "GET /messages/archives", "GET /messages/dead",
		"POST /agents/{agent}/terminate", "POST /coordinator/losses/note", "POST /coordinator/recover", "POST /exports", "POST /exports/{export}/ack", "POST /exports/{export}/reset",
		"POST /factories/{factory}/drain", "POST /factories/{factory}/undrain", "POST /messages/dead/{message}/discard",
		"POST /messages/dead/{message}/redrive", "POST /pools/{pool}/scaling", "POST /reclaim", "PUT /issuers/{issuer}"},
	tenancy.Manage: {"DELETE /budgets/{budget}", "DELETE /jobs/{job}", "DELETE /pools/{pool}", "DELETE /products/{product}", "DELETE /webhooks/{webhook}", "GET /dispatch", "GET /dispatch/divergence", "GET /products/{product}/auto_approve/preview", "GET /webhooks", "GET /webhooks/{webhook}/deliveries", "PATCH /budgets/{budget}", "PATCH /webhooks/{webhook}", "POST /budgets",
		"POST /budgets/{budget}/raise", "POST /budgets/{budget}/transfer", "POST /budgets/{budget}/undo", "POST /deliveries/{delivery}/redeliver", "POST /stop", "POST /stop/release", "POST /webhooks", "POST /webhooks/{webhook}/rotate", "POST /webhooks/{webhook}/test", "PUT /dispatch", "PUT /pools/{pool}", "PUT /prices", "PUT /prices/models", "PUT /products/{product}"},
	tenancy.Enrol: {"PUT /agents/{agent}"},
	tenancy.WorkJobs: {"GET /fleet/credentials", "GET /fleet/queue-state", "POST /agents/{agent}/end", "POST /agents/{agent}/heartbeat", "POST /fleet/ask", "POST /fleet/batch", "POST /fleet/budget", "POST /fleet/claim",
		"POST /fleet/complete", "POST /fleet/delivery", "POST /fleet/fail", "POST /fleet/follow", "POST /fleet/logs", "POST /fleet/progress", "POST /fleet/release",
		"POST /fleet/renew", "POST /fleet/start", "POST /fleet/steps", "POST /fleet/usage"},
}

// kinds are the tokens that have a permission, as the description names them.
var kinds = map[tenancy.Permission][]string{
	tenancy.Public: nil, tenancy.SignedIn: {"personToken"}, tenancy.ReadBoard: {"agentToken", "personToken"}, tenancy.CreateJobs: {"agentToken", "personToken"}, tenancy.PutBlobs: {"agentToken", "personToken"}, tenancy.WriteJobs: {"personToken"}, tenancy.AnswerQuestions: {"agentToken", "personToken"},
	tenancy.SendMessages: {"agentToken", "personToken"},
	tenancy.RunFleet:     {"personToken"}, tenancy.Manage: {"personToken"}, tenancy.Enrol: {"enrolmentToken"}, tenancy.WorkJobs: {"agentToken"},
}

func TestEveryCallHasItsPermission(t *testing.T) {
	t.Parallel()
	got := map[tenancy.Permission][]string{}
	for path, item := range described.doc.Paths.Map() {
		for method, op := range item.Operations() {
			need := tenancy.Permission(fmt.Sprint(op.Extensions["x-permission"]))
			got[need] = append(got[need], method+" "+path)
			if op.Security == nil {
				t.Errorf("%s %s has no security", method, path)
				continue
			}
			var allowed []string
			for _, one := range *op.Security {
				allowed = slices.AppendSeq(allowed, maps.Keys(one))
			}
			slices.Sort(allowed)
			if !slices.Equal(allowed, kinds[need]) {
				t.Errorf("%s %s: security %v does not fit the permission %s", method, path, allowed, need)
			}
		}
	}
	for _, list := range got {
		slices.Sort(list)
	}
	if diff := cmp.Diff(permissions, got); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

// TestNoCallIsOpen makes every call without a token.
func TestNoCallIsOpen(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for path, item := range described.doc.Paths.Map() {
		for method, op := range item.Operations() {
			path := strings.NewReplacer("{job}", "x", "{agent}", "x", "{factory}", "x").Replace(path)
			a := w.send(request{method: method, path: path})
			if op.OperationID == "getDescription" || op.OperationID == "getVersion" {
				a.want(200)
				continue
			}
			if op.OperationID == "enrolWorkload" { // its body has the token of another issuer
				a.want(400)
				continue
			}
			if a.want(http.StatusUnauthorized); method != http.MethodHead {
				a.refused(fault.Unauthenticated)
			}
		}
	}
}

func TestDescriptionServesItself(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	file, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := w.as("", "GET", "/openapi.yaml", nil).want(200)
	if string(a.raw) != string(file) || a.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("%d bytes of %s, want the %d of the file", len(a.raw), a.header.Get("Content-Type"), len(file))
	}
}

func TestCatalogueIsDescribed(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, code := range fault.Codes() {
		want = append(want, string(code))
	}
	for _, code := range described.doc.Components.Schemas["ProblemCode"].Value.Enum {
		got = append(got, fmt.Sprint(code))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// TestRequestsAreClosed finds request schemas that would let unknown fields in.
func TestRequestsAreClosed(t *testing.T) {
	t.Parallel()
	for path, item := range described.doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			if json := op.RequestBody.Value.Content["application/json"]; json != nil {
				closed(t, method+" "+path, json.Schema)
			}
		}
	}
}

func closed(t *testing.T, at string, ref *openapi3.SchemaRef) {
	t.Helper()
	schema := ref.Value
	if schema.Type.Is("array") {
		closed(t, at+"[]", schema.Items)
		return
	}
	// An item of a batch is checked by the schema of its verb, which is closed.
	if !schema.Type.Is("object") || strings.HasSuffix(ref.Ref, "/FreeForm") || strings.HasSuffix(ref.Ref, "/BatchItem") {
		return
	}
	if values := schema.AdditionalProperties.Schema; values != nil && len(schema.Properties) == 0 { // a table by names
		closed(t, at+"{}", values)
		return
	}
	if schema.AdditionalProperties.Has == nil || *schema.AdditionalProperties.Has {
		t.Errorf("%s takes unknown fields", at)
	}
	for name, property := range schema.Properties {
		closed(t, at+"."+name, property)
	}
}

// TestGuideNamesEveryCode: docs/agents.md says what an agent does on each.
func TestGuideNamesEveryCode(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range fault.Codes() {
		if !strings.Contains(string(guide), "`"+string(code)+"`") {
			t.Errorf("docs/agents.md does not name %s", code)
		}
	}
}
