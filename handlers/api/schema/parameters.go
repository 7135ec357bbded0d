package schema

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/internal/fault"
)

var wholeNumber = regexp.MustCompile(`^-?[0-9]{1,20}$`)

// Parameters compares a request's path, query and headers with the description of its
// call; path gives a part of the path by its name, escaped.
//
// Faults: NotFound for what can be no name in the path; Malformed and Validation as of
// Decode, Malformed also for an unknown parameter of the query.
func Parameters(params openapi3.Parameters, r *http.Request, path func(name string) string) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fault.Wrap(err, fault.Malformed, "The query of the address could not be read.")
	}
	var found findings
	for _, ref := range params {
		p := ref.Value
		switch p.In {
		case openapi3.ParameterInPath:
			if err := checkPath(path(p.Name)); err != nil {
				return err
			}
		case openapi3.ParameterInHeader:
			if values := r.Header.Values(p.Name); len(values) > 0 {
				found.parameter(p.Name, strings.Join(values, ", "), p.Schema.Value)
			}
		case openapi3.ParameterInQuery:
			found.query(p, query[p.Name])
			delete(query, p.Name)
		}
	}
	for name := range query {
		found.unreadable(name, "There is no such query parameter.")
	}
	return found.fault()
}

func checkPath(escaped string) error {
	name, err := url.PathUnescape(escaped)
	if err != nil || !isText([]byte(name)) {
		return fault.New(fault.NotFound, "Nothing can have this name.")
	}
	return nil
}

func (f *findings) query(p *openapi3.Parameter, values []string) {
	schema := p.Schema.Value
	if schema.Type.Is("array") {
		if apart := p.Explode == nil || *p.Explode; !apart && len(values) > 1 {
			f.unreadable(p.Name, "It must be given once.")
		} else if !apart && len(values) == 1 {
			values = strings.Split(values[0], ",")
		}
		n := uint64(len(values))
		if schema.MaxItems != nil && n > *schema.MaxItems {
			f.unfit(p.Name, mostEntries, *schema.MaxItems)
		} else if n < schema.MinItems {
			f.unfit(p.Name, fewestEntries, schema.MinItems, n)
		}
		for i, v := range values {
			f.parameter(p.Name+"["+strconv.Itoa(i)+"]", v, schema.Items.Value)
		}
		return
	}
	if len(values) > 1 {
		f.unreadable(p.Name, "It must be given once.")
	}
	if len(values) > 0 {
		f.parameter(p.Name, values[0], schema)
	}
}

// parameter checks one value that came as text.
func (f *findings) parameter(name, value string, schema *openapi3.Schema) {
	if !isText([]byte(value)) {
		f.unfit(name, notText)
	}
	switch {
	case schema.Type.Is("boolean"):
		if value != "true" && value != "false" {
			f.unreadable(name, "%s", expected(schema))
		}
	case schema.Type.Is("integer"):
		if !wholeNumber.MatchString(value) {
			f.unreadable(name, "%s", expected(schema))
		} else if problem, _ := numberProblem(value, schema); problem != "" {
			f.unfit(name, "%s", problem)
		}
	default:
		if problem := textProblem([]byte(value), schema); problem != "" {
			f.unfit(name, "%s", problem)
		}
	}
}
