package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/reference"
)

// schemaModel describes a named type.
func schemaModel(name string, s *openapi3.Schema) view.Schema {
	return view.Schema{Name: name, Text: oneLine(s.Description), Fields: listFields("", s), Limits: limits(s),
		Type: describeType(&openapi3.SchemaRef{Value: s})}
}

// listFields returns the fields of an object; those of objects in it have both names.
func listFields(before string, s *openapi3.Schema) (list []view.Field) {
	for _, part := range s.AllOf {
		list = append(list, listFields(before, part.Value)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		of := s.Properties[name]
		list = append(list, view.Field{Name: before + name, Required: slices.Contains(s.Required, name), Type: describeType(of),
			Text: oneLine(of.Value.Description), Limits: limits(of.Value)})
		inner, mark := of, "."
		if of.Ref == "" && of.Value.Items != nil {
			inner, mark = of.Value.Items, "[]."
		}
		if inner.Ref == "" && len(inner.Value.Properties) > 0 {
			list = append(list, listFields(before+name+mark, inner.Value)...)
		}
	}
	return list
}

// describeType returns the type of a value in words; a named one leads to its page.
func describeType(ref *openapi3.SchemaRef) view.Type {
	if ref == nil || ref.Value == nil {
		return view.Type{}
	}
	if ref.Ref != "" {
		name := path.Base(ref.Ref)
		return view.Type{Name: name, URL: links.APISchema(name)}
	}
	s := ref.Value
	t := plainType(s)
	if s.Nullable {
		t.After += " or null"
	}
	return t
}

func plainType(s *openapi3.Schema) view.Type {
	one := append(slices.Clone(s.OneOf), s.AnyOf...)
	switch {
	case len(s.AllOf) == 1:
		return describeType(s.AllOf[0])
	case len(one) > 0:
		words := make([]string, len(one))
		for i, ref := range one {
			t := describeType(ref)
			words[i] = t.Before + t.Name + t.After
		}
		return view.Type{Before: strings.Join(words, " or ")}
	case s.Items != nil:
		of := describeType(s.Items)
		of.Before = "list of " + of.Before
		return of
	case s.AdditionalProperties.Schema != nil:
		of := describeType(s.AdditionalProperties.Schema)
		of.Before = "by name, " + of.Before
		return of
	case s.Type == nil:
		return view.Type{Before: "any value"}
	}
	return view.Type{Before: typeWords(s)}
}

func typeWords(s *openapi3.Schema) string {
	switch {
	case s.Type.Is("string") && s.Format == "date-time":
		return "time"
	case s.Type.Is("string") && s.Format == "binary":
		return "bytes"
	case s.Type.Is("string") && s.Format != "":
		return s.Format
	case s.Type.Is("string"):
		return "text"
	case s.Type.Is("boolean"):
		return "true or false"
	}
	return strings.Join(s.Type.Slice(), " or ")
}

// limits says what a value must be beside its type.
func limits(s *openapi3.Schema) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		add("one of %s", strings.Join(values, ", "))
	}
	if s.Min != nil {
		add("at least %v", *s.Min)
	}
	if s.Max != nil {
		add("at most %v", *s.Max)
	}
	if s.MinLength > 0 {
		add("at least %d characters", s.MinLength)
	}
	if s.MaxLength != nil {
		add("at most %d characters", *s.MaxLength)
	}
	if s.MinItems > 0 {
		add("at least %d of them", s.MinItems)
	}
	if s.MaxItems != nil {
		add("at most %d of them", *s.MaxItems)
	}
	if s.Pattern != "" {
		add("like %s", s.Pattern)
	}
	if s.Default != nil {
		if text, err := json.Marshal(s.Default); err == nil {
			add("%s where it is left out", text)
		}
	}
	return list
}
