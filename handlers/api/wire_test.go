package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
)

// answered are the domain's types that answers are written from, by the name of their schema.
var answered = map[string]any{"Job": Job{}, "Lease": jobs.Lease{}, "Attempt": Attempt{}, "Delivery": Delivery{}, "LogLine": LogLine{},
	"CoordinatorLogLine": CoordinatorLogLine{}, "Export": Export{}, "EndedBranch": EndedBranch{}, "MergeOrder": lease.MergeOrder{},
	"OpenedPullRequest": lease.OpenedPullRequest{}, "Product": Product{}, "Agent": Agent{}, "Factory": Factory{}, "Repo": fleet.Repo{},
	"Unavailable": fleet.Unavailable{}, "Rescued": fleet.Rescued{}, "Registered": Registered{}, "Message": Message{}, "Archive": Archive{},
	"DeadLetter": DeadLetter{}, "DeadOffer": DeadOffer{}, "FactoryCredentials": FactoryCredentials{}, "FoundMessage": FoundMessage{}, "ExportLine": ExportLine{}, "ExportPage": ExportPage{}, "Inbox": Inbox{},
	"Budget": Budget{}, "BudgetState": BudgetState{}, "BudgetAlert": budgets.Alert{}, "BudgetLine": BudgetLine{},
	"BudgetProjection": forecast.Projection{}, "Usage": Usage{}, "Recovered": Recovered{}, "UsageGroup": UsageGroup{}, "UsageSummary": UsageSummary{}}

// A domain type that is answered says of each of its fields what it is called on the wire, or
// that it is not for it; and the description knows each of these names.
func TestAnswersShowOnlyWhatIsDescribed(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(api.Description))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range answered {
		shown := map[string]bool{}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			tag, tagged := f.Tag.Lookup("json")
			word, _, _ := strings.Cut(tag, ",")
			switch {
			case f.Anonymous && !tagged || !f.IsExported() || word == "-":
			case word == "":
				t.Errorf("%s: the field %s does not say what it is called", name, f.Name)
			default:
				shown[word] = true
			}
		}
		described := doc.Components.Schemas[name].Value.Properties
		if got, want := slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(described)); !slices.Equal(got, want) {
			t.Errorf("%s: %v; the description has %v", name, got, want)
		}
	}
}
