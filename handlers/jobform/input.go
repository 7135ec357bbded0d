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

// maxInputs is how many characters of inputs a browser takes.
const maxInputs = 20_000

func setInputs(n *jobs.New, text string) string {
	inputs := map[string]string{}
	_, why := inputLines(text, inputs)
	n.InputContext = encodeInputs(inputs)
	return why
}

// setSecrets adds secrets to the inputs, which are set before them.
func setSecrets(n *jobs.New, text string) (why string) {
	inputs := map[string]string{}
	_ = json.Unmarshal(n.InputContext, &inputs) // it is empty or what setInputs made
	n.SecretKeys, why = inputLines(text, inputs)
	n.InputContext = encodeInputs(inputs)
	return why
}

// encodeInputs returns inputs as the domain takes them, nil for none.
func encodeInputs(inputs map[string]string) json.RawMessage {
	if len(inputs) == 0 {
		return nil
	}
	raw, _ := json.Marshal(inputs) // marshalling a map of texts cannot fail
	return raw
}

// inputNames returns the inputs of a job that are no secrets.
func inputNames(j jobs.Job) []string {
	var inputs map[string]json.RawMessage
	_ = json.Unmarshal(j.InputContext, &inputs) // it is an object
	return slices.DeleteFunc(slices.Sorted(maps.Keys(inputs)), func(name string) bool { return slices.Contains(j.SecretKeys, name) })
}
