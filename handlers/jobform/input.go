package jobform

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/internal/jobs"
)

// inputLines reads lines of NAME=value into inputs. It says what is wrong with
// the first line that is none; the line itself it does not repeat: it may be a
// secret.
func inputLines(text string, inputs map[string]string) (names []string, wrong string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if _, twice := inputs[name]; twice {
			return names, "Line " + strconv.Itoa(n) + " has a name that another line has."
		}
		if !found || name == "" {
			return names, "Line " + strconv.Itoa(n) + " is not NAME=value."
		}
		inputs[name] = strings.TrimSpace(value)
		names = append(names, name)
	}
	return names, ""
}

// setInputs gives a job what the form's lines say, or notes what is wrong.
func (f jobForm) setInputs(n *jobs.New, wrong map[string]string) {
	inputs := map[string]string{}
	if _, problem := inputLines(f.inputs, inputs); problem != "" {
		wrong["inputs"] = problem
	}
	secret, problem := inputLines(f.secrets, inputs)
	if problem != "" {
		wrong["secrets"] = problem
	}
	if len(inputs) == 0 || wrong["inputs"] != "" || wrong["secrets"] != "" {
		return
	}
	raw, err := json.Marshal(inputs)
	if err != nil {
		wrong["inputs"] = "It must hold text only: UTF-8, without NUL characters." // its own words could tell a value
		return
	}
	n.InputContext, n.SecretKeys = raw, secret
}

// inputNames are the inputs of a job that are no secrets.
func inputNames(j jobs.Job) []string {
	var inputs map[string]json.RawMessage
	_ = json.Unmarshal(j.InputContext, &inputs) // it is an object
	return slices.DeleteFunc(slices.Sorted(maps.Keys(inputs)), func(name string) bool { return slices.Contains(j.SecretKeys, name) })
}
