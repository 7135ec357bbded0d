package client

import "github.com/fleetboard/fleetboard/api"

// Version is that of the fleet command.
const Version = "1.0.0"

// New returns the fleet command's connection to a server, as api.New does.
func New(server, token string, o api.Options) (*api.Client, error) {
	o.Program = "fleet/" + Version
	return api.New(server, token, o)
}
