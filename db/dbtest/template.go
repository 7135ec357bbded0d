package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/schema"
)

const (
	templatePrefix = "fleetboard_template_"
	// databasePrefix is followed by the test's process and a random part.
	databasePrefix = "fleetboard_test_"
)

// ensureTemplate gives the name of the migrated template, and makes it where it
// is missing. Packages that run at once wait for the one that makes it.
func ensureTemplate(ctx context.Context, address string) (string, error) {
	digest, err := migrationsDigest()
	if err != nil {
		return "", err
	}
	name := templatePrefix + hex.EncodeToString(digest[:8])
	key := int64(binary.BigEndian.Uint64(digest[8:16])) // #nosec G115 -- any number will do
	err = maintain(ctx, address, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", key); err != nil {
			return err
		}
		var there bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there)
		if err != nil || there {
			return err
		}
		return makeTemplate(ctx, conn, address, name)
	})
	if err != nil {
		return "", fmt.Errorf("preparing the template: %w", err)
	}
	return name, nil
}

// makeTemplate migrates under another name first: a template is whole or absent.
func makeTemplate(ctx context.Context, conn *pgx.Conn, address, name string) error {
	building := name + "_new"
	if err := execAll(ctx, conn, "DROP DATABASE IF EXISTS "+building+" WITH (FORCE)", "CREATE DATABASE "+building); err != nil {
		return err
	}
	url, err := at(address, building)
	if err != nil {
		return err
	}
	if err := db.Migrate(ctx, url); err != nil {
		return err
	}
	return execAll(ctx, conn, "ALTER DATABASE "+building+" RENAME TO "+name)
}

func execAll(ctx context.Context, conn *pgx.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// migrationsDigest is SHA-256 over names and texts of the migrations.
func migrationsDigest() ([sha256.Size]byte, error) {
	h := sha256.New()
	files, err := fs.Glob(schema.FS, "*.sql")
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	for _, f := range files {
		text, err := schema.FS.ReadFile(f)
		if err != nil {
			return [sha256.Size]byte{}, err
		}
		_, _ = fmt.Fprintf(h, "%s %d\n%s", f, len(text), text)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// dropLeftovers removes the databases of test processes that were killed, and
// templates of other migrations that are a day old.
func dropLeftovers(ctx context.Context, address string) error {
	return maintain(ctx, address, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT datname FROM pg_database
			WHERE starts_with(datname, $1)
			   OR starts_with(datname, $2)
			  AND (pg_stat_file('base/' || oid || '/PG_VERSION', true)).modification < now() - interval '1 day'`,
			databasePrefix, templatePrefix)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, name := range names {
			if ofLivingProcess(name) {
				continue
			}
			// Another process may be dropping the same one.
			if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil &&
				ctx.Err() != nil {
				return err
			}
		}
		return nil
	})
}

// ofLivingProcess reads the process out of a test database's name.
func ofLivingProcess(name string) bool {
	rest, ok := strings.CutPrefix(name, databasePrefix)
	if !ok {
		return false
	}
	process, _, _ := strings.Cut(rest, "_")
	pid, err := strconv.Atoi(process)
	if err != nil || pid == os.Getpid() {
		return err == nil
	}
	return syscall.Kill(pid, 0) == nil
}
