package job

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	view "github.com/fleetboard/fleetboard/views/job"
)

const maxShownInputs = 50

const maxShownInput = 2000

// inputsModel returns the inputs of a job by name, a text as it is and anything else
// in JSON. A secret one has the placeholder for its value.
func inputsModel(j jobs.Job) view.Inputs {
	var all map[string]json.RawMessage
	if json.Unmarshal(j.InputContext, &all) != nil {
		return view.Inputs{}
	}
	m := view.Inputs{Secret: len(j.SecretKeys) > 0}
	if more := len(all) - maxShownInputs; more > 0 {
		m.Note = web.Counted(len(all)) + " in all, the first " + strconv.Itoa(maxShownInputs)
	}
	for _, name := range slices.Sorted(maps.Keys(all))[:min(len(all), maxShownInputs)] {
		one := view.Input{Name: name, Secret: slices.Contains(j.SecretKeys, name)}
		if json.Unmarshal(all[name], &one.Value) != nil {
			one.Value = web.PrettyJSON(all[name])
		}
		if runes := []rune(one.Value); len(runes) > maxShownInput {
			one.Value = string(runes[:maxShownInput]) + "…"
		}
		m.List = append(m.List, one)
	}
	return m
}
