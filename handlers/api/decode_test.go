package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetboard/handlers/status"
	"fleetboard/internal/fault"
)

// bodies are the operations with a body, in a fixed order, and the types that
// their bodies are read into.
func bodies() ([]operation, map[string]func() any) {
	into := map[string]func() any{
		"createJob": func() any { return new(NewJob) }, "createJobs": func() any { return new(NewJobs) },
		"patchJob": func() any { return new(JobPatch) }, "registerAgent": func() any { return new(Registration) },
		"heartbeat": func() any { return new(Heartbeat) }, "claimJobs": func() any { return new(ClaimRequest) },
		"reportProgress": func() any { return new(ProgressReport) }, "completeJob": func() any { return new(Completion) },
		"failJob": func() any { return new(Failure) }, "releaseLease": func() any { return new(LeaseRelease) },
		"previewRoutability": func() any { return new(RoutabilityRequest) }, "blockJob": func() any { return new(ReasonedAction) },
	}
	var list []operation
	all, _ := operations()
	for _, op := range all {
		if into[op.id] != nil {
			list = append(list, op)
		}
	}
	slices.SortFunc(list, func(a, b operation) int { return strings.Compare(a.id, b.id) })
	return list, into
}

func TestDecodeIsCanonical(t *testing.T) {
	t.Parallel()
	ops, _ := bodies()
	schema := ops[slices.IndexFunc(ops, func(op operation) bool { return op.id == "createJob" })].body
	for in, want := range map[string]string{
		" { \"title\" : \"<a>\" } ":                   `{"title":"<a>"}`,
		`{"title":"x","body":"\u00e9\u2028"}`:         "{\"body\":\"é\\u2028\",\"title\":\"x\"}",
		`{"title":"x","input_context":{"b":1e2}}`:     `{"input_context":{"b":1e2},"title":"x"}`,
		`{"title":"x","input_context":{"n":-0.10}}`:   `{"input_context":{"n":-0.10},"title":"x"}`,
		`{"title":"x","input_context":{"n":null}}`:    `{"input_context":{"n":null},"title":"x"}`,
		`{"title":"x","tags":[],"input_context":{}} `: `{"input_context":{},"tags":[],"title":"x"}`,
	} {
		got, err := decode([]byte(in), schema)
		if err != nil || string(bytes.TrimSpace(got)) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestDepthLimit(t *testing.T) {
	t.Parallel()
	ops, _ := bodies()
	schema := ops[slices.IndexFunc(ops, func(op operation) bool { return op.id == "createJob" })].body
	nested := func(levels int) []byte {
		// The body and input_context are the first two levels.
		return []byte(`{"title":"x","input_context":` + strings.Repeat(`{"a":`, levels-2) + "{}" + strings.Repeat("}", levels-2) + "}")
	}
	if _, err := decode(nested(maxDepth), schema); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
	if _, err := decode(nested(maxDepth+1), schema); !fault.Is(err, fault.Malformed) {
		t.Errorf("%d levels: %v", maxDepth+1, err)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	ops, _ := bodies()
	var many strings.Builder
	for i := range 1000 {
		many.WriteString(`,"` + strings.Repeat("k", 500+i) + `":1`)
	}
	_, err := decode([]byte(`{"title":"x"`+many.String()+`}`), ops[0].body)
	refusal := fault.From(err)
	if refusal.Code != fault.Malformed || len(refusal.Fields) > maxFindings {
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
	ops, into := bodies()
	f.Fuzz(func(t *testing.T, which int, raw []byte) {
		op := ops[((which%len(ops))+len(ops))%len(ops)]
		began := time.Now()
		canonical, err := decode(raw, op.body)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: %s for %d bytes", op.id, took, len(raw))
		}
		if err != nil {
			if status := status.OfError(err); status < 400 || status > 499 {
				t.Fatalf("%s: %d %v", op.id, status, err)
			}
			return
		}
		if err := json.Unmarshal(canonical, into[op.id]()); err != nil {
			t.Fatalf("%s: checked, and yet %v: %s", op.id, err, canonical)
		}
		if bytes.Contains(canonical, []byte(`\u0000`)) && !bytes.Contains(canonical, []byte(`\\u0000`)) {
			t.Fatalf("%s: a NUL came through: %s", op.id, canonical)
		}
		again, err := decode(canonical, op.body)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("%s: not canonical: %s and %s, %v", op.id, canonical, again, err)
		}
	})
}

// TestLongNamesCostLittle: the name of a value is built for each value, and may
// not grow with what the sender wrote.
func TestLongNamesCostLittle(t *testing.T) {
	t.Parallel()
	ops, _ := bodies()
	schema := ops[slices.IndexFunc(ops, func(op operation) bool { return op.id == "createJob" })].body
	body := []byte(`{"title":"x","input_context":{"` + strings.Repeat("k", 120<<10) + `":[` + strings.Repeat("1,", 60<<10) + `1]}}`)
	measured := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			if _, err := decode(body, schema); err != nil {
				b.Fatal(err)
			}
		}
	})
	if bytes := measured.AllocedBytesPerOp(); bytes > 100<<20 {
		t.Errorf("%d MB for a body of %d KB", bytes>>20, len(body)>>10)
	}
}
