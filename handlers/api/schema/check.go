package schema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// What is checked here are the keywords that the requests of openapi.yaml use: type, nullable,
// properties, required, additionalProperties, items, enum, date-time, anyOf a number and a
// text, and the limits of length, number and entries.

// fitting returns the schema for text where the value is one, else the other one.
func fitting(isText bool, schemas openapi3.SchemaRefs) *openapi3.Schema {
	i := slices.IndexFunc(schemas, func(s *openapi3.SchemaRef) bool { return s.Value.Type.Is("string") == isText })
	return schemas[max(0, i)].Value
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

const (
	// mostEntries and fewestEntries refuse a list that is too long or too short.
	mostEntries   = "It must have at most %d entries."
	fewestEntries = "It must have at least %d entries (it has %d)."
	// notText refuses what PostgreSQL cannot keep as text.
	notText = "It must hold text only: UTF-8, without NUL characters."
)

// textProblem says why a text does not fit; "" is that it does.
func textProblem(s []byte, schema *openapi3.Schema) string {
	n := uint64(utf8.RuneCount(s)) //nolint:gosec // a count
	switch {
	case schema.MaxLength != nil && n > *schema.MaxLength:
		return fmt.Sprintf("It must have at most %d characters (it has %d).", *schema.MaxLength, n)
	case n < schema.MinLength:
		return "It must not be empty."
	case len(schema.Enum) > 0 && !slices.ContainsFunc(schema.Enum, func(one any) bool { return isName(one, s) }):
		return fmt.Sprintf("It must be one of %s.", choices(schema.Enum))
	case schema.Format == "date-time":
		if _, err := time.Parse(time.RFC3339, string(s)); err != nil {
			return "It must be a time like 2006-01-02T15:04:05Z."
		}
	}
	return ""
}

func isName(one any, s []byte) bool {
	name, _ := one.(string)
	return name == string(s)
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

// numberProblem says why a number does not fit, and whether it is one of the schema's type;
// "" is that it fits.
func numberProblem(n string, schema *openapi3.Schema) (problem string, readable bool) {
	var v float64
	var err error
	switch {
	case schema.Type.Is("number"):
		v, err = strconv.ParseFloat(n, 64)
	case !schema.Type.Is("integer") || strings.ContainsAny(n, ".eE"):
		return expected(schema), false
	default:
		var whole int64
		whole, err = strconv.ParseInt(n, 10, 64)
		v = float64(whole)
	}
	if err != nil || outside(v, schema) {
		return span(schema), true
	}
	return "", true
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
