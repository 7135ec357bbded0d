package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// limits returns a file of package api with a constant for each bound that a schema of the
// description states about a property: MaxNewJobTitle, MaxNewJobTags, MaxNewJobTagsItem.
func limits(description string) (string, error) {
	doc, err := openapi3.NewLoader().LoadFromFile(description)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(header + "package api\n\n// What openapi.yaml takes at least and at most: characters of a text, " +
		"entries of a list, and numbers.\nconst (\n")
	for _, schema := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		properties := doc.Components.Schemas[schema].Value.Properties
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			bounds(&b, schema+goName(name), properties[name].Value)
		}
	}
	b.WriteString(")\n")
	return b.String(), nil
}

// bounds writes the bounds of a property, and of the entries of a list.
func bounds(b *strings.Builder, name string, p *openapi3.Schema) {
	write := func(end string, bound float64) { fmt.Fprintf(b, "\t%s%s = %.0f\n", end, name, bound) }
	switch {
	case p.Type.Is("integer"):
		if p.Min != nil && *p.Min != 0 {
			write("Min", *p.Min)
		}
		if p.Max != nil {
			write("Max", *p.Max)
		}
	case p.Type.Is("string") && p.MaxLength != nil:
		write("Max", float64(*p.MaxLength))
	case p.Type.Is("array"):
		if p.MaxItems != nil {
			write("Max", float64(*p.MaxItems))
		}
		bounds(b, name+"Item", p.Items.Value)
	}
}

// goName returns a property's name as Go writes it.
func goName(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		switch part {
		case "id", "url", "usd", "ttl", "cpu", "os", "mb", "tz", "json":
			b.WriteString(strings.ToUpper(part))
		default:
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}
