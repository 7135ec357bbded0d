package mcp

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// metadataPath is where programs look for what a protected resource takes (RFC 9728); behind it
// stands the path of the resource, or nothing.
const metadataPath = "/.well-known/oauth-protected-resource"

// MetadataPaths are the paths that Metadata answers.
var MetadataPaths = []string{metadataPath, metadataPath + Path}

// Metadata says that the resource takes bearer tokens, in the header only, and where people
// make them. There is no authorization server: a program has its token before it connects.
func (s *Server) Metadata(w http.ResponseWriter, r *http.Request) {
	address := s.address(r)
	auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource:               address + Path,
		ResourceName:           "Fleetboard",
		ResourceDocumentation:  address + documentation,
		BearerMethodsSupported: []string{"header"},
	}).ServeHTTP(w, r)
}

// documentation is the page that says how to connect and makes tokens.
const documentation = "/settings/connect"

// address returns the server's, as the caller reached it; the edge lets only names of the server
// through.
func (s *Server) address(r *http.Request) string {
	if s.Secure {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
