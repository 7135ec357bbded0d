package schema_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/handlers/api/schema"
	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// body is the description of the body of a call.
type body struct {
	call   string
	schema *openapi3.Schema
}

// bodies returns all of the API by the names of their calls.
func bodies(t testing.TB) map[string]*openapi3.Schema {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile("../../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*openapi3.Schema{}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			if json := op.RequestBody.Value.Content["application/json"]; json != nil {
				all[op.OperationID] = json.Schema.Value
			}
		}
	}
	return all
}

// typed are bodies in a fixed order, and the types that they are read into.
func typed(t testing.TB) ([]body, map[string]func() any) {
	t.Helper()
	into := map[string]func() any{
		"createJob": func() any { return new(api.NewJob) }, "createJobs": func() any { return new(api.NewJobs) },
		"patchJob": func() any { return new(api.JobPatch) }, "registerAgent": func() any { return new(api.Registration) },
		"heartbeat": func() any { return new(api.Heartbeat) }, "claimJobs": func() any { return new(api.ClaimRequest) },
		"reportProgress": func() any { return new(api.ProgressReport) }, "completeJob": func() any { return new(api.Completion) },
		"failJob": func() any { return new(api.Failure) }, "releaseLease": func() any { return new(api.LeaseRelease) },
		"previewRoutability": func() any { return new(api.RoutabilityRequest) }, "blockJob": func() any { return new(api.ReasonedAction) },
	}
	var list []body
	for call, described := range bodies(t) {
		if into[call] != nil {
			list = append(list, body{call, described})
		}
	}
	slices.SortFunc(list, func(a, b body) int { return strings.Compare(a.call, b.call) })
	return list, into
}

func TestDecodeIsCanonical(t *testing.T) {
	t.Parallel()
	job := bodies(t)["createJob"]
	for in, want := range map[string]string{
		" { \"title\" : \"<a>\" } ":                   `{"title":"<a>"}`,
		`{"title":"x","body":"\u00e9\u2028"}`:         "{\"body\":\"é\\u2028\",\"title\":\"x\"}",
		`{"title":"x","input_context":{"b":1e2}}`:     `{"input_context":{"b":1e2},"title":"x"}`,
		`{"title":"x","input_context":{"n":-0.10}}`:   `{"input_context":{"n":-0.10},"title":"x"}`,
		`{"title":"x","input_context":{"n":null}}`:    `{"input_context":{"n":null},"title":"x"}`,
		`{"title":"x","tags":[],"input_context":{}} `: `{"input_context":{},"tags":[],"title":"x"}`,
	} {
		got, err := schema.Decode([]byte(in), job)
		if err != nil || string(bytes.TrimSpace(got)) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestDepthLimit(t *testing.T) {
	t.Parallel()
	job := bodies(t)["createJob"]
	nested := func(levels int) []byte {
		// The body and input_context are the first two levels.
		return []byte(`{"title":"x","input_context":` + strings.Repeat(`{"a":`, levels-2) + "{}" + strings.Repeat("}", levels-2) + "}")
	}
	if _, err := schema.Decode(nested(schema.MaxDepth), job); err != nil {
		t.Errorf("%d levels: %v", schema.MaxDepth, err)
	}
	if _, err := schema.Decode(nested(schema.MaxDepth+1), job); !fault.Is(err, fault.Malformed) {
		t.Errorf("%d levels: %v", schema.MaxDepth+1, err)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 1000 {
		many.WriteString(`,"` + strings.Repeat("k", 500+i) + `":1`)
	}
	_, err := schema.Decode([]byte(`{"title":"x"`+many.String()+`}`), bodies(t)["createJob"])
	refusal := fault.From(err)
	if refusal.Code != fault.Malformed || len(refusal.Fields) > schema.MaxFindings {
		t.Fatalf("%s with %d fields", refusal.Code, len(refusal.Fields))
	}
	for field := range refusal.Fields {
		if len(field) > 500 {
			t.Errorf("a field of %d bytes is told back", len(field))
		}
	}
}

// FuzzDecode feeds the decoder anything: it answers with a refusal that a client
// may see, or with a body that the operation's type takes and that PostgreSQL
// can keep.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"title":"x"}`, `{"title":"x","title":"y"}`, `{"title":"x","input_context":{"a":[1,2.5e3,null,true]}}`,
		`{"jobs":[{"title":"a","key":"A"},{"title":"b","depends_on":["A"]}]}`, `{"job":"A","epoch":1,"progress_percent":5}`,
		`{"boot_id":"b","status":"idle","leases":[{"job":"x","epoch":2}]}`, `{"boot_id":"b","factory":{"name":"f","seats":3,"repos":[{"name":"r"}]}}`,
		"{\"title\":\"\xff\"}", `{"title":"\u0000"}`, `{"title":"\ud800"}`, `[[[[[[]]]]]]`, `1e999999999`, `{"version":1} x`, ``, `nul`, "\xef\xbb\xbf{}",
		`{"title":"x","not_before":"2026-01-01T00:00:00Z"}`, `{"wait_seconds":-1,"max":1e2}`} {
		for i := range 12 {
			f.Add(i, []byte(seed))
		}
	}
	calls, into := typed(f)
	f.Fuzz(func(t *testing.T, which int, raw []byte) {
		of := calls[((which%len(calls))+len(calls))%len(calls)]
		began := time.Now()
		canonical, err := schema.Decode(raw, of.schema)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: %s for %d bytes", of.call, took, len(raw))
		}
		if err != nil {
			if status := status.OfError(err); status < 400 || status > 499 {
				t.Fatalf("%s: %d %v", of.call, status, err)
			}
			return
		}
		if err := json.Unmarshal(canonical, into[of.call]()); err != nil {
			t.Fatalf("%s: checked, and yet %v: %s", of.call, err, canonical)
		}
		if bytes.Contains(canonical, []byte(`\u0000`)) && !bytes.Contains(canonical, []byte(`\\u0000`)) {
			t.Fatalf("%s: a NUL came through: %s", of.call, canonical)
		}
		again, err := schema.Decode(canonical, of.schema)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("%s: not canonical: %s and %s, %v", of.call, canonical, again, err)
		}
	})
}

// TestLongNamesCostLittle: each value may have something wrong with it, and its name may not
// grow with what the sender wrote.
func TestLongNamesCostLittle(t *testing.T) {
	t.Parallel()
	job := bodies(t)["createJob"]
	for item, wrong := range map[string]bool{"1": false, `"\u0000"`: true, "1e999": true} {
		body := []byte(`{"title":"x","input_context":{"` + strings.Repeat("k", 120<<10) + `":[` + strings.Repeat(item+",", 60<<10) + item + `]}}`)
		measured := testing.Benchmark(func(b *testing.B) {
			for range b.N {
				if _, err := schema.Decode(body, job); (err != nil) != wrong {
					b.Fatal(err)
				}
			}
		})
		if bytes := measured.AllocedBytesPerOp(); bytes > 100<<20 {
			t.Errorf("%s: %d MB for a body of %d KB", item, bytes>>20, len(body)>>10)
		}
	}
}
