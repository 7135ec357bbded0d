package mcp

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// arguments are what a program gives a tool, as it wrote them: no number loses a digit, and what was
// given twice is there twice, for the API to refuse.
type arguments struct{ members []member }

type member struct {
	name  string
	value json.RawMessage
}

// readArguments reads an object; none is an empty one.
func readArguments(raw json.RawMessage) (*arguments, error) {
	in := &arguments{}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return in, nil
	}
	from := json.NewDecoder(bytes.NewReader(raw))
	if t, err := from.Token(); err != nil || t != json.Delim('{') {
		return nil, fault.Wrap(err, fault.Malformed, "The arguments must be a JSON object.")
	}
	for from.More() {
		key, err := from.Token()
		name, ok := key.(string)
		var m member
		if err == nil && ok {
			m.name, err = name, from.Decode(&m.value)
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.Malformed, "The arguments are not one JSON object.")
		}
		in.members = append(in.members, m)
	}
	return in, nil
}

// has reports whether an argument is given.
func (a *arguments) has(name string) bool {
	return slices.ContainsFunc(a.members, func(m member) bool { return m.name == name && string(m.value) != "null" })
}

// take removes an argument and returns it as it was written, "" where it is not given.
func (a *arguments) take(name string) (value string) {
	a.members = slices.DeleteFunc(a.members, func(m member) bool {
		if m.name == name {
			value = string(m.value)
		}
		return m.name == name
	})
	return value
}

// oneText returns an argument that must be a text which is not empty.
func oneText(m member) (string, error) {
	var text string
	switch err := json.Unmarshal(m.value, &text); {
	case err != nil:
		return "", unreadable(m.name, "It must be text.")
	case text == "":
		return "", fault.Invalid(m.name, "It must not be empty.")
	}
	return text, nil
}

// unreadable refuses an argument in the words of the API.
func unreadable(name, problem string) error {
	refusal := fault.New(fault.Malformed, "Some fields are unknown or of the wrong type.")
	refusal.Fields = map[string]string{name: problem}
	return refusal
}

// texts returns an argument as parameters of a query: a list is one for each entry, null none.
func texts(value json.RawMessage) []string {
	var text string
	var list []json.RawMessage
	switch {
	case string(value) == "null":
		return nil
	case json.Unmarshal(value, &text) == nil:
		return []string{text}
	case json.Unmarshal(value, &list) == nil:
		var all []string
		for _, one := range list {
			all = append(all, texts(one)...)
		}
		return all
	}
	return []string{string(value)}
}

// object returns members as they were written as one object.
func object(members []member) []byte {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // of a text
		out.Write(name)
		out.WriteByte(':')
		out.Write(m.value)
	}
	out.WriteByte('}')
	return out.Bytes()
}
