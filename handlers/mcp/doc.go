// Package mcp is the edge for agent programs that speak the Model Context Protocol, at /mcp:
// streamable HTTP without sessions, with a bearer token of a person or an agent.
//
// A tool is a call of the JSON API under another name. It is carried out by the API itself,
// in this process and with the caller's token, so that permissions, limits, codes and
// sentences are those of the call; this package has no rule about jobs. What a tool takes is
// read out of the API's description (schema.go), and a refusal is handed on as it is.
//
// A request passes server.go (origin, token, how many at once, length), then the SDK, which
// knows the protocol, then tool.go and call.go.
package mcp
