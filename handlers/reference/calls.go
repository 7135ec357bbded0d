package reference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/reference"
)

// reference is all pages.
type reference struct {
	index   view.Index
	schemas map[string]view.Schema
}

// readPages reads the description. It panics where that cannot be read: it is part of the program.
func readPages() reference {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(api.Description))
	if err != nil {
		panic(fmt.Sprintf("openapi.yaml: %v", err))
	}
	all := reference{index: view.Index{Version: doc.Info.Version, Intro: paragraphs(doc.Info.Description)},
		schemas: map[string]view.Schema{}}
	for _, tag := range doc.Tags {
		if calls := listCalls(doc, tag.Name); len(calls) > 0 {
			all.index.Groups = append(all.index.Groups, view.Group{Name: tag.Name, URL: links.APIGroup(tag.Name), Calls: calls})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		all.index.Schemas = append(all.index.Schemas, view.Link{Text: name, URL: links.APISchema(name)})
		all.schemas[name] = schemaModel(name, doc.Components.Schemas[name].Value)
	}
	return all
}

// paragraphs returns the paragraphs of a text, each in one line.
func paragraphs(text string) (list []string) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		list = append(list, strings.Join(strings.Fields(part), " "))
	}
	return list
}

// methods are in the order in which a path's calls are listed.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}

// listCalls returns the calls of a tag, by path.
func listCalls(doc *openapi3.T, tag string) (list []view.Call) {
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Find(path)
		for _, method := range methods {
			if o := item.GetOperation(method); o != nil && slices.Contains(o.Tags, tag) {
				list = append(list, callModel(doc, tag, method, path, item, o))
			}
		}
	}
	return list
}

func callModel(doc *openapi3.T, tag, method, path string, item *openapi3.PathItem, o *openapi3.Operation) view.Call {
	permission, _ := o.Extensions["x-permission"].(string)
	c := view.Call{ID: o.OperationID, Method: method, Path: path, URL: links.APICall(tag, o.OperationID),
		Summary: oneLine(o.Summary, o.Description), Permission: permission, Tokens: tokens(o)}
	params := append(slices.Clone(item.Parameters), o.Parameters...)
	if o.Extensions["x-idempotency-key"] == true {
		params = append(params, doc.Components.Parameters["IdempotencyKey"])
	}
	for _, p := range params {
		c.Parameters = append(c.Parameters, view.Field{Name: p.Value.Name, In: p.Value.In, Required: p.Value.Required,
			Type: describeType(p.Value.Schema), Text: oneLine(p.Value.Description), Limits: limits(p.Value.Schema.Value)})
	}
	if o.RequestBody != nil {
		c.Body = bodyModel(o.RequestBody.Value)
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses.Map())) {
		answer := o.Responses.Value(status).Value
		m := view.Answer{Status: cmp.Or(map[string]string{"default": "otherwise"}[status], status), Type: contentType(answer.Content)}
		if answer.Description != nil {
			m.Text = oneLine(*answer.Description)
		}
		c.Answers = append(c.Answers, m)
	}
	return c
}

// words for the kinds of tokens.
var tokenWords = map[string]string{"personToken": "a person", "agentToken": "an agent", "enrolmentToken": "an enrolment"}

func tokens(o *openapi3.Operation) string {
	var words []string
	if o.Security != nil {
		for _, need := range *o.Security {
			for _, name := range slices.Sorted(maps.Keys(need)) {
				words = append(words, cmp.Or(tokenWords[name], name))
			}
		}
	}
	if len(words) == 0 {
		return "anybody, or none"
	}
	return strings.Join(words, " or ")
}

func bodyModel(b *openapi3.RequestBody) *view.Body {
	m := &view.Body{Type: contentType(b.Content), Required: b.Required}
	if json := b.Content["application/json"]; json != nil && json.Schema != nil && json.Schema.Ref == "" {
		m.Fields = listFields("", json.Schema.Value)
	}
	return m
}

// contentType is the type of what a body or an answer has where that is JSON, else its media type.
func contentType(content openapi3.Content) view.Type {
	for _, media := range []string{"application/json", "application/problem+json"} {
		if json := content[media]; json != nil {
			return describeType(json.Schema)
		}
	}
	return view.Type{Before: strings.Join(slices.Sorted(maps.Keys(content)), ", ")}
}

// oneLine joins texts without their line ends.
func oneLine(texts ...string) string {
	return strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
}
