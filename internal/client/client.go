package client

import (
	"runtime/debug"

	"github.com/fleetboard/fleetboard/api"
)

// Version is that of the fleet command's calls, which a server may find too old.
const Version = "1.0.0"

// Describe says which program this is, for people: "v1.2.0, client 1.0.0".
func Describe() string {
	build := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		build = info.Main.Version
	}
	return build + ", client " + Version
}

// New returns the fleet command's connection to a server, as api.New does.
func New(server, token string, o api.Options) (*api.Client, error) {
	o.Program = "fleet/" + Version
	return api.New(server, token, o)
}
