package eventlog_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// A type that is declared and not listed could not be queried.
func TestTypesAreAllThereAre(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("event.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile(`Type += "([a-z_.]+)"`).FindAllSubmatch(source, -1) {
		declared[string(m[1])] = true
	}
	listed := map[string]bool{}
	for _, name := range eventlog.Types {
		if listed[string(name)] || !declared[string(name)] {
			t.Errorf("%s is listed twice, or not declared", name)
		}
		listed[string(name)] = true
	}
	for name := range declared {
		if !listed[name] {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestUnknownTypesAreRefused(t *testing.T) {
	t.Parallel()
	if err := eventlog.CheckTypes("type", []string{"job.created", "job.*", "agent.*"}); err != nil {
		t.Errorf("known types: %v", err)
	}
	for _, name := range []string{"job.gone", "jobs.*", "*", "jo*", "job.", ""} {
		if err := eventlog.CheckTypes("type", []string{"job.*", name}); !fault.Is(err, fault.Validation) || fault.From(err).Fields["type[1]"] == "" {
			t.Errorf("%q: %v; want a refusal of type[1]", name, err)
		}
	}
}
