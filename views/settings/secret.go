package settings

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// SecretsPage is the page of the workspace's encryption keys.
type SecretsPage struct {
	Shell   layout.Shell
	Secrets Secrets
}

// Secrets are the keys, the newest first, and how far a rotation has come.
type Secrets struct {
	Keys     []SecretKey
	Running  bool
	Percent  int    // of the rotation, 0 where it is not known
	Progress string // "3,200 of 10,000 values are encrypted with the new key."
	Locked   bool   // a key cannot be used by this server
	CanRenew bool
	Renew    ui.Action
}

// SecretKey is one generation.
type SecretKey struct {
	Name   string // "Key 3"
	Made   ui.When
	Values string // "10,000 or more"
	State  string
	Until  ui.When // when it was retired
	Writes bool
	Locked bool
}
