// Package schema holds the migrations of the database, in goose's format. They
// only ever go forward; sqlc reads them too.
package schema

import "embed"

// FS is the migrations, NNNNN_name.sql.
//
//go:embed *.sql
var FS embed.FS
