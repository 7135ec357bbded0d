package dbtest

import (
	"context"
	"crypto/sha256"
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
	filledPrefix   = "fleetboard_filled_"
	// databasePrefix is followed by the test's process and a random part.
	databasePrefix = "fleetboard_test_"
)

// migrated gives the name of the migrated template, and makes it where it is missing.
func migrated(ctx context.Context) (string, error) {
	digest, err := migrationsDigest()
	if err != nil {
		return "", err
	}
	name := templatePrefix + hex.EncodeToString(digest[:8])
	return name, ensure(ctx, name, "CREATE DATABASE %s", db.Migrate)
}

// filled gives the name of a template with the rows that statements make, and makes it where
// it is missing.
func filled(ctx context.Context, statements []string) (string, error) {
	from, err := template()
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(strings.Join(statements, "\x00")))
	name := strings.Replace(from, templatePrefix, filledPrefix, 1) + "_" + hex.EncodeToString(digest[:8])
	return name, ensure(ctx, name, "CREATE DATABASE %s TEMPLATE "+from+" STRATEGY FILE_COPY", func(ctx context.Context, url string) error {
		return maintain(ctx, url, func(conn *pgx.Conn) error { return execAll(ctx, conn, statements...) })
	})
}

// ensure makes the template of a name where it is missing. Packages that run at once wait for
// the one that makes it. It has another name first: a template is whole or absent.
func ensure(ctx context.Context, name, create string, fill func(ctx context.Context, url string) error) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	address, err := server()
	if err != nil {
		return err
	}
	err = maintain(ctx, address, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", name); err != nil {
			return err
		}
		var there bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there)
		if err != nil || there {
			return err
		}
		building := name + "_new"
		if err := execAll(ctx, conn, "DROP DATABASE IF EXISTS "+building+" WITH (FORCE)", fmt.Sprintf(create, building)); err != nil {
			return err
		}
		url, err := at(address, building)
		if err != nil {
			return err
		}
		if err := fill(ctx, url); err != nil {
			return err
		}
		return execAll(ctx, conn, "ALTER DATABASE "+building+" RENAME TO "+name)
	})
	if err != nil {
		return fmt.Errorf("preparing the template: %w", err)
	}
	return nil
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

// dropLeftovers removes the databases of test processes that were killed, templates that are a
// day old, and those with rows, which are large, after an hour where their migrations are others.
func dropLeftovers(ctx context.Context, address string) error {
	digest, err := migrationsDigest()
	if err != nil {
		return err
	}
	ours := filledPrefix + hex.EncodeToString(digest[:8])
	return maintain(ctx, address, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT datname FROM pg_database
			WHERE starts_with(datname, $1) OR (starts_with(datname, $2) OR starts_with(datname, $3))
				AND (pg_stat_file('base/' || oid || '/PG_VERSION', true)).modification
					< now() - CASE WHEN starts_with(datname, $3) AND NOT starts_with(datname, $4)
						THEN interval '1 hour' ELSE interval '1 day' END`,
			databasePrefix, templatePrefix, filledPrefix, ours)
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
