package dbtest

import (
	"bytes"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
)

// Vault returns a vault over a test's database; all of one database have the same key.
func Vault(d *db.DB) *vault.Vault { return vault.New(d, bytes.Repeat([]byte{7}, vault.KeySize)) }
