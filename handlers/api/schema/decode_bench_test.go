package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/handlers/api/schema"
)

// BenchmarkDecode reads bodies into the types of their calls.
func BenchmarkDecode(b *testing.B) {
	all := bodies(b)
	job := `{"title":"Move the login to passkeys","body":"As the design says.\n\n- keep \"remember me\"\n- é","product":"web",` +
		`"priority":7,"tags":["auth","login"],"capabilities":["go"],"depends_on":["WEB-1"],"acceptance":["it works"],` +
		`"input_context":{"design":"docs/login.md","limits":{"minutes":30}},"estimated_minutes":30,"budget_usd":"1.50"}`
	report := `{"verb":"progress","job":"WEB-17","epoch":3,"progress_percent":40,"current_step":"tests"}`
	hundred := func(one string) string { return strings.TrimSuffix(strings.Repeat(one+",", 100), ",") }
	for _, c := range []struct {
		name, call, body string
		into             func() any
	}{
		{"claim", "claimJobs", "{}", func() any { return new(api.ClaimRequest) }},
		{"submit", "createJob", job, func() any { return new(api.NewJob) }},
		{"batch of 100 jobs", "createJobs", `{"jobs":[` + hundred(job) + `]}`, func() any { return new(api.NewJobs) }},
		{"batch of 100 reports", "reportBatch", `{"items":[` + hundred(report) + `]}`, func() any { return new(api.Batch) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				body, err := schema.Decode([]byte(c.body), all[c.call])
				if err == nil {
					err = json.Unmarshal(body, c.into())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
