package worker

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// What the worker tells of an attempt is as long as the API takes it.
func TestLimitsAreThoseOfTheAPI(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile("../../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	field := func(of, name string) int {
		limit := doc.Components.Schemas[of].Value.Properties[name].Value.MaxLength
		if limit == nil {
			t.Fatalf("%s.%s has no limit", of, name)
		}
		return int(*limit)
	}
	if api := field("Completion", "summary"); maxSummary != api {
		t.Errorf("a summary has %d characters here, and %d in the API", maxSummary, api)
	}
	if api := field("Failure", "error"); maxError > api {
		t.Errorf("an error has %d characters here, and %d in the API", maxError, api)
	}
	if api := field("LeaseRelease", "reason"); maxReason > api {
		t.Errorf("a reason has %d characters here, and %d in the API", maxReason, api)
	}
}
