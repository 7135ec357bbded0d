package mcp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// operation is what the API's description says of a call.
type operation struct {
	method, path string
	need         tenancy.Permission
	summary      string
	params       openapi3.Parameters
	body         *openapi3.Schema // nil where the call takes none
}

// operations are the calls of the API by their ids.
var operations = sync.OnceValue(func() map[string]operation {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(api.Description))
	if err != nil {
		panic(fmt.Sprintf("openapi.yaml: %v", err)) // it is a part of the program
	}
	all := map[string]operation{}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			need, _ := o.Extensions["x-permission"].(string) // the API starts with none without
			op := operation{method: method, path: path, need: tenancy.Permission(need), summary: o.Summary,
				params: slices.Concat(item.Parameters, o.Parameters)}
			if o.RequestBody != nil && method != http.MethodGet {
				if json := o.RequestBody.Value.Content["application/json"]; json != nil {
					op.body = json.Schema.Value
				}
			}
			all[o.OperationID] = op
		}
	}
	return all
})

// in says where a call takes a field: "path", "query", or "body".
func (op operation) in(field string) string {
	for _, p := range op.params {
		if p.Value.Name == field && p.Value.In != openapi3.ParameterInHeader {
			return p.Value.In
		}
	}
	if op.body == nil {
		return openapi3.ParameterInQuery
	}
	return "body"
}

// field returns what the description says of a field, and whether it must be given; nil where there
// is none.
func (op operation) field(name string) (*jsonSchema, bool) {
	for _, p := range op.params {
		if p.Value.Name == name && p.Value.In != openapi3.ParameterInHeader {
			s := derive(p.Value.Schema.Value)
			if p.Value.Description != "" {
				s.Description = p.Value.Description
			}
			return s, p.Value.Required
		}
	}
	if op.body == nil || op.body.Properties[name] == nil {
		return nil, false
	}
	return derive(op.body.Properties[name].Value), slices.Contains(op.body.Required, name)
}

// jsonSchema is what a program is told of a value.
type jsonSchema struct {
	Type        string                 `json:"type"`
	Description string                 `json:"description,omitempty"`
	Properties  map[string]*jsonSchema `json:"properties,omitempty"`
	Required    []string               `json:"required,omitempty"`
	Closed      *bool                  `json:"additionalProperties,omitempty"`
	Items       *jsonSchema            `json:"items,omitempty"`
	Enum        []any                  `json:"enum,omitempty"`
	Format      string                 `json:"format,omitempty"`
	Pattern     string                 `json:"pattern,omitempty"`
	Min         *float64               `json:"minimum,omitempty"`
	Max         *float64               `json:"maximum,omitempty"`
	MinLength   uint64                 `json:"minLength,omitempty"`
	MaxLength   *uint64                `json:"maxLength,omitempty"`
	MinItems    uint64                 `json:"minItems,omitempty"`
	MaxItems    *uint64                `json:"maxItems,omitempty"`
	Default     any                    `json:"default,omitempty"`
}

// derive returns a schema of the description as JSON Schema. It panics where the description says
// more than it knows: a tool would then promise less than its call.
func derive(s *openapi3.Schema) *jsonSchema {
	if s.Type == nil || len(*s.Type) != 1 || len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Nullable {
		panic(fmt.Sprintf("mcp: a schema of the description that is not of one type: %q", s.Description))
	}
	out := &jsonSchema{Type: (*s.Type)[0], Description: s.Description, Enum: s.Enum, Pattern: s.Pattern, Min: s.Min, Max: s.Max,
		MinLength: s.MinLength, MaxLength: s.MaxLength, MinItems: s.MinItems, MaxItems: s.MaxItems, Default: s.Default}
	if strings.HasPrefix(s.Format, "date") || s.Format == "uuid" {
		out.Format = s.Format // the others, such as int64, are those of programs
	}
	if s.Items != nil {
		out.Items = derive(s.Items.Value)
	}
	if out.Type == "object" && len(s.Properties) > 0 {
		out.Properties, out.Required, out.Closed = map[string]*jsonSchema{}, s.Required, s.AdditionalProperties.Has
		for name, of := range s.Properties {
			out.Properties[name] = derive(of.Value)
		}
	}
	return out
}
