package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// check compares a parsed value with its schema. It knows the keywords that the
// requests of openapi.yaml use: type, nullable, properties, required,
// additionalProperties, items, enum, date-time, anyOf a number and a text, and the
// limits of length, number and entries.
func (f *findings) check(field string, value any, schema *openapi3.Schema) {
	if len(schema.AnyOf) > 0 {
		schema = fitting(value, schema.AnyOf)
	}
	switch v := value.(type) {
	case nil:
		if !schema.Nullable {
			f.unreadable(field, "It must not be null; leave the field out.")
		}
	case map[string]any:
		if f.is(field, schema, "object") {
			f.object(field, v, schema)
		}
	case []any:
		if f.is(field, schema, "array") {
			f.array(field, v, schema)
		}
	case string:
		if f.is(field, schema, "string") {
			f.string(field, v, schema)
		}
	case bool:
		f.is(field, schema, "boolean")
	case json.Number:
		f.numeric(field, v, schema)
	}
}

// fitting returns the schema for text where the value is one, else the other one.
func fitting(value any, schemas openapi3.SchemaRefs) *openapi3.Schema {
	_, isText := value.(string)
	i := slices.IndexFunc(schemas, func(s *openapi3.SchemaRef) bool { return s.Value.Type.Is("string") == isText })
	return schemas[max(0, i)].Value
}

// is reports whether the schema takes a type, and notes what it takes where not.
func (f *findings) is(field string, schema *openapi3.Schema, kind string) bool {
	if schema.Type.Is(kind) {
		return true
	}
	f.unreadable(field, "%s", expected(schema))
	return false
}

func expected(schema *openapi3.Schema) string {
	switch {
	case schema.Type.Is("object"):
		return "It must be a JSON object."
	case schema.Type.Is("array"):
		return "It must be a list."
	case schema.Type.Is("string"):
		return "It must be text."
	case schema.Type.Is("boolean"):
		return "It must be true or false."
	case schema.Type.Is("integer"):
		return "It must be a whole number."
	}
	return "It must be a number."
}

func (f *findings) object(field string, object map[string]any, schema *openapi3.Schema) {
	open := schema.AdditionalProperties.Has == nil || *schema.AdditionalProperties.Has
	for key, value := range object {
		property, known := schema.Properties[key]
		switch {
		case known:
			f.check(join(field, key), value, property.Value)
		case !open:
			f.unreadable(join(field, key), "There is no such field.")
		}
	}
	for _, key := range schema.Required {
		if _, given := object[key]; !given {
			f.unfit(join(field, key), "It must be given.")
		}
	}
}

// mostEntries refuses a list that is too long.
const mostEntries = "It must have at most %d entries."

func (f *findings) array(field string, list []any, schema *openapi3.Schema) {
	n := uint64(len(list))
	if schema.MaxItems != nil && n > *schema.MaxItems {
		f.unfit(field, mostEntries, *schema.MaxItems)
		return
	}
	if n < schema.MinItems {
		f.unfit(field, "It must have at least %d entries (it has %d).", schema.MinItems, n)
	}
	for i, item := range list {
		f.check(field+"["+strconv.Itoa(i)+"]", item, schema.Items.Value)
	}
}

func (f *findings) string(field, s string, schema *openapi3.Schema) {
	n := uint64(utf8.RuneCountInString(s)) //nolint:gosec // a count
	switch {
	case schema.MaxLength != nil && n > *schema.MaxLength:
		f.unfit(field, "It must have at most %d characters (it has %d).", *schema.MaxLength, n)
	case n < schema.MinLength:
		f.unfit(field, "It must not be empty.")
	case len(schema.Enum) > 0 && !slices.Contains(schema.Enum, any(s)):
		f.unfit(field, "It must be one of %s.", choices(schema.Enum))
	case schema.Format == "date-time":
		if _, err := time.Parse(time.RFC3339, s); err != nil {
			f.unfit(field, "It must be a time like 2006-01-02T15:04:05Z.")
		}
	}
}

func choices(enum []any) string {
	names := make([]string, 0, len(enum))
	for _, e := range enum {
		if name, ok := e.(string); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func (f *findings) numeric(field string, n json.Number, schema *openapi3.Schema) {
	if schema.Type.Is("integer") {
		f.integer(field, n, schema)
		return
	}
	if !f.is(field, schema, "number") {
		return
	}
	v, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || outside(v, schema) {
		f.unfit(field, "%s", span(schema))
	}
}

func (f *findings) integer(field string, n json.Number, schema *openapi3.Schema) {
	if strings.ContainsAny(n.String(), ".eE") {
		f.unreadable(field, "It must be a whole number.")
		return
	}
	v, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil || outside(float64(v), schema) {
		f.unfit(field, "%s", span(schema))
	}
}

func outside(v float64, schema *openapi3.Schema) bool {
	return schema.Min != nil && v < *schema.Min || schema.Max != nil && v > *schema.Max
}

// span says which numbers the schema takes.
func span(schema *openapi3.Schema) string {
	low, high := "", ""
	if schema.Min != nil {
		low = strconv.FormatFloat(*schema.Min, 'f', -1, 64)
	}
	if schema.Max != nil {
		high = strconv.FormatFloat(*schema.Max, 'f', -1, 64)
	} else if schema.Type.Is("integer") {
		high = strconv.FormatInt(math.MaxInt64, 10)
	}
	return "It must be " + strings.TrimSpace(low+" to "+high) + "."
}
