package app

import (
	"fmt"
	"runtime/debug"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/handlers/api"
)

// build returns the version that the program was built as, and the newest schema that it knows,
// to which it has migrated the database.
func build() api.Build {
	b := api.Build{Server: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		b.Server = info.Main.Version
	}
	b.Schema, _ = db.SchemaVersion() // the same names were read to migrate
	return b
}

// Version says which program this is, for people: "v1.2.0, schema 66".
func Version() string {
	b := build()
	return fmt.Sprintf("%s, schema %d", b.Server, b.Schema)
}
