// Package api is the HTTP edge for agents and tools: JSON under /api/v1, tokens,
// problems. api/openapi.yaml is its source: the types, the routes and the client are
// generated from it, each call's permission stands in it (x-permission), and
// every request is checked against its schemas before a handler sees it. The types are
// those of the folder api at the top; aliases.gen.go gives them their bare names here.
//
// A request goes through request id and recovery, then, for the operation it
// reached: credentials and permission, parameters, body (schema). A body is read once,
// refused with the names of the fields where it is not what the schema says, and
// handed on in its canonical form, on which idempotency keys are compared too.
// The handlers of a noun (jobHandlers, agentHandlers, ...) translate to the domain
// and back, and name the few methods of the services that they call; Server embeds
// them. Every refusal leaves through problem.go.
package api
