package handlers

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"fleetboard/handlers/web"
	"fleetboard/internal/jobs"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// maxShownInputs and maxShownInput bound what a page shows of a job's inputs.
const (
	maxShownInputs = 50
	maxShownInput  = 2000
)

// inputsModel are the inputs of a job by name, a text as it is and anything else
// in JSON. A secret one has the placeholder for its value.
func inputsModel(j jobs.Job) views.Inputs {
	var all map[string]json.RawMessage
	if json.Unmarshal(j.InputContext, &all) != nil {
		return views.Inputs{}
	}
	m := views.Inputs{Secret: len(j.SecretKeys) > 0}
	if more := len(all) - maxShownInputs; more > 0 {
		m.Note = counted(len(all)) + " in all, the first " + strconv.Itoa(maxShownInputs)
	}
	for _, name := range slices.Sorted(maps.Keys(all))[:min(len(all), maxShownInputs)] {
		one := views.Input{Name: name, Secret: slices.Contains(j.SecretKeys, name)}
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

// secretSheet is what the page of the encryption keys is made of.
type secretSheet struct {
	keys   []jobs.SecretKey // the newest first
	canOwn bool
}

func (s secretSheet) model() views.Secrets {
	m := views.Secrets{CanRenew: s.canOwn && len(s.keys) > 0, Renew: renewAction()}
	moved, left, more := 0, 0, false
	for _, k := range s.keys {
		m.Keys = append(m.Keys, keyModel(k))
		m.Locked = m.Locked || k.Locked
		if !k.Writes && k.RetiredAt == nil {
			moved, left, more = moved+k.Moved, left+k.Values, more || k.More
			m.Running = true
		}
	}
	if !m.Running {
		return m
	}
	// One that does not end has met values that were damaged; it keeps nobody from
	// a new key.
	m.CanRenew = m.CanRenew && !s.keys[0].Fresh
	m.Percent = 100 * moved / max(moved+left, 1)
	m.Progress = counted(moved) + " of " + counted(moved+left) + " values are encrypted with the new key."
	if more {
		m.Percent, m.Progress = 0, counted(moved)+" values are encrypted with the new key; more than "+counted(left)+" are left."
	}
	return m
}

func keyModel(k jobs.SecretKey) views.SecretKey {
	m := views.SecretKey{Name: "Key " + strconv.Itoa(k.Generation), Made: ui.Day(k.MadeAt), Values: counted(k.Values), Locked: k.Locked}
	if k.More {
		m.Values += " or more"
	}
	switch {
	case k.RetiredAt != nil:
		m.State, m.Until = "Retired", ui.Day(*k.RetiredAt)
	case k.Writes:
		m.State, m.Writes = "Encrypts what is new", true
	default:
		m.State = "Is being replaced"
	}
	return m
}

// renewAction asks before a new key is made.
func renewAction() views.Action {
	return views.Action{Verb: "renew", Label: "Make a new key", Icon: "key-round", URL: links.RenewSecrets,
		Dialog: &views.ActionDialog{Title: "Make a new key?", Confirm: "Make a new key", Keep: "Keep the present one",
			Text: ui.Text("New secrets are encrypted with it at once. The ones that are kept are encrypted anew in the background; agents read them all the time.")}}
}

// counted writes a number with its thousands apart: 10,000.
func counted(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
