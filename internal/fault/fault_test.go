package fault_test

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestRefusedFieldsHaveAnOrder(t *testing.T) {
	want := []string{"capabilities", "capabilities[2]", "capabilities[10]", "capabilities[10].name", "title"}
	fields := map[string]string{}
	for _, name := range want {
		fields[name] = "wrong"
	}
	for range 20 {
		if got := fault.InvalidFields(fields).Names(); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
