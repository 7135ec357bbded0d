package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// operation is what the description says of one call.
type operation struct {
	id           string
	need         tenancy.Permission
	params       openapi3.Parameters
	body         *openapi3.Schema // nil where the call takes none
	bodyRequired bool
	// once says that the call takes an Idempotency-Key.
	once bool
	// transfers says that the call sends or takes bytes that are no JSON, as many as
	// there are.
	transfers bool
	cheap     bool // see cheapCalls
	waits     bool // see waiting
}

// operations are the calls of the description, by their ids. The description is read once: that
// takes a tenth of a second.
var operations = sync.OnceValues(readOperations)

// readOperations reads the description, and its version. It panics where a call has no permission:
// the description is part of the program, and such a call would be open to all.
func readOperations() (all map[string]operation, version string) {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(api.Description))
	if err != nil {
		panic(fmt.Sprintf("openapi.yaml: %v", err))
	}
	all = map[string]operation{}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			op := operation{id: o.OperationID}
			need, ok := o.Extensions["x-permission"].(string)
			if !ok || need == "" {
				panic(fmt.Sprintf("openapi.yaml: %s %s has no x-permission", method, path))
			}
			op.need = tenancy.Permission(need)
			op.params = append(append(op.params, item.Parameters...), o.Parameters...)
			if o.RequestBody != nil {
				op.bodyRequired = o.RequestBody.Value.Required
				if json := o.RequestBody.Value.Content["application/json"]; json != nil {
					op.body = json.Schema.Value
				}
			}
			if o.Extensions["x-idempotency-key"] == true {
				op.params = append(op.params, doc.Components.Parameters["IdempotencyKey"])
			}
			op.once = op.params.GetByInAndName(openapi3.ParameterInHeader, idempotencyKey) != nil
			op.cheap = slices.Contains(cheapCalls, op.id)
			op.waits = slices.Contains(waiting, op.id)
			op.transfers = slices.Contains(o.Tags, "blobs")
			all[op.id] = op
		}
	}
	return all, doc.Info.Version
}

// GetDescription serves the description itself.
func (s *metaHandlers) GetDescription(context.Context, GetDescriptionRequestObject) (GetDescriptionResponseObject, error) {
	return GetDescription200ApplicationYamlResponse{
		Body: strings.NewReader(api.Description), ContentLength: int64(len(api.Description))}, nil
}
