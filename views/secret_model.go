package views

import "fleetboard/views/ui"

// Inputs are what a job's agent is given beside the description.
type Inputs struct {
	List   []Input
	Note   string // "120 in all, the first 50"
	Secret bool   // some of them are
}

// Input is one of them. Of a secret one the value is a placeholder.
type Input struct {
	Name, Value string
	Secret      bool
}

// SecretsPage is the page of the workspace's encryption keys.
type SecretsPage struct {
	Shell   Shell
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
	Renew    Action
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
