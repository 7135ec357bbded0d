package db

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"fleetboard/db/schema"
)

// SchemaVersion is the newest schema that this program knows.
func SchemaVersion() (newest int64, err error) {
	names, err := fs.Glob(schema.FS, "*.sql")
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		n, bad := strconv.ParseInt(number, 10, 64)
		if bad != nil {
			return 0, fmt.Errorf("number of migration %s: %w", name, bad)
		}
		newest = max(newest, n)
	}
	return newest, err
}
