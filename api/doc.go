// Package api speaks to a Fleetboard server: the types of its HTTP API, a call for each
// operation, and what openapi.yaml says besides. Type and call names are those of openapi.yaml.
package api

import _ "embed"

// Description is openapi.yaml, from which the types and calls of this package are generated.
//
//go:embed openapi.yaml
var Description string
