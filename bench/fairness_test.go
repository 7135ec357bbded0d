package main

import (
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Each call of the API is among those that fairness measures, with a path of its own.
func TestFairnessKnowsEachCall(t *testing.T) {
	file, err := os.ReadFile("../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(file)
	if err != nil {
		t.Fatal(err)
	}
	inputs := worstInputs(&named{filled: 10, wide: "FB-1", budget: "b", another: "c", message: "m", blob: "s", leases: make([]lease, 3)})
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			in, ok := inputs[op.OperationID]
			asked, body := in.next(7)
			asked, _, _ = strings.Cut(asked, "?")
			if !ok || in.what == "" || in.method != method || strings.Count(asked, "/") != strings.Count("/api/v1"+path, "/") {
				t.Errorf("%s %s (%s) is measured as %s %s (%s)", method, path, op.OperationID, in.method, asked, in.what)
			}
			if strings.Contains(asked, "{") || strings.Contains(string(body), "{n}") || strings.Contains(string(body), "{i}") {
				t.Errorf("%s keeps a place for a name: %s %.200s", op.OperationID, asked, body)
			}
			delete(inputs, op.OperationID)
		}
	}
	for name := range inputs {
		t.Errorf("there is no call %s", name)
	}
}

// The line works with some of the calls; what it says of a busy machine is not looked at.
func TestFairnessWorks(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	env := map[string]string{"FLEETBOARD_BENCH_ROWS": "1000", "FLEETBOARD_BENCH_DIR": t.TempDir(), "FLEETBOARD_FAIRNESS": "searchJobs,getBlob,heartbeat"}
	if _, err := run(t.Context(), []string{"fairness"}, func(name string) string { return env[name] }, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, name := range strings.Split(env["FLEETBOARD_FAIRNESS"], ",") {
		if !strings.Contains(out.String(), "| `"+name+"` |") {
			t.Errorf("%s is not in the table:\n%s", name, out.String())
		}
	}
}
