package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// unfinishedRestore is the table that marks a database into which a dump is being restored.
const unfinishedRestore = "restore_unfinished"

// UnfitError says why a database does not take a dump. Nothing was changed in it.
type UnfitError struct{ sentence string }

// Error returns the sentence.
func (e *UnfitError) Error() string { return e.sentence }

// ServerVersion returns the version of a database server, and its first number.
func ServerVersion(ctx context.Context, ownerURL string) (version string, major int, err error) {
	var number int
	err = once(ctx, ownerURL, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT current_setting('server_version'), current_setting('server_version_num')::int").
			Scan(&version, &number)
	})
	return version, number / 10000, err
}

// Login returns the login of an address.
func Login(ownerURL string) (string, error) {
	cfg, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return "", fmt.Errorf("the database address cannot be read: %w", err)
	}
	return cfg.User, nil
}

// once connects for one thing.
func once(ctx context.Context, ownerURL string, do func(conn *pgx.Conn) error) error {
	cfg, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return fmt.Errorf("the database address cannot be read: %w", err)
	}
	prepare(cfg)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	defer closeQuietly(ctx, conn)
	return do(conn)
}

// Dump writes a dump of the database in pg_dump's own format. major is the version of its server, or an
// older one.
func Dump(ctx context.Context, ownerURL string, major int, out io.Writer) error {
	cmd, said, err := program(ctx, "pg_dump", major, ownerURL, "--format=custom", "--no-password")
	if err != nil {
		return err
	}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return explain("pg_dump", err, said.String())
	}
	return nil
}

// RestoreDump restores a dump into a database that was prepared for it, all of it or nothing, and settles
// the order of its log.
func RestoreDump(ctx context.Context, ownerURL string, major int, in io.Reader) error {
	cmd, said, err := program(ctx, "pg_restore", major, ownerURL, "--single-transaction", "--exit-on-error", "--no-owner", "--no-password")
	if err != nil {
		return err
	}
	cmd.Stdin = in
	if err := cmd.Run(); err != nil {
		return explain("pg_restore", err, said.String())
	}
	return once(ctx, ownerURL, func(conn *pgx.Conn) error { return settleLog(ctx, conn) })
}

// settleLog gives all events one transaction, which every reader takes for ended: ids of transactions
// belong to the cluster that the dump is from. Each workspace's policy shows its own events only.
func settleLog(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, "SELECT id::text FROM workspace")
	if err != nil {
		return fmt.Errorf("list the workspaces: %w", err)
	}
	workspaces, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, w := range workspaces {
		if err == nil {
			err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "SELECT set_config('app.workspace_id', $1, true)", w); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, "UPDATE event SET xid = '3'::xid8 WHERE workspace_id = $1::uuid", w)
				return err
			})
		}
	}
	if err != nil {
		return fmt.Errorf("settle the order of the log: %w", err)
	}
	return nil
}

// PrepareDump marks a database as one that is being restored: an empty one, or one that is marked
// already, which is emptied. owner is the login that the dump's policies name. An UnfitError says why
// it does not do.
func PrepareDump(ctx context.Context, ownerURL, owner string) error {
	return once(ctx, ownerURL, func(conn *pgx.Conn) error {
		var tables int
		var marked bool
		var login string
		err := conn.QueryRow(ctx, `SELECT current_user::text, to_regclass('public.`+unfinishedRestore+`') IS NOT NULL,
			(SELECT count(*) FROM pg_class c WHERE c.relnamespace = to_regnamespace('public') AND c.relkind IN ('r', 'p', 'v', 'm'))`).
			Scan(&login, &marked, &tables)
		switch {
		case err != nil:
			return fmt.Errorf("look at the database: %w", err)
		case login != owner:
			return &UnfitError{fmt.Sprintf("the dump belongs to the login %s, which its policies name: name an empty database "+
				"and that login in DATABASE_URL, not %s", owner, login)}
		case tables > 0 && !marked:
			return &UnfitError{fmt.Sprintf("the database is not empty, it has %d tables: name an empty one in DATABASE_URL", tables)}
		}
		statements := []string{makeRoles}
		if marked {
			statements = append(statements, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
		}
		statements = append(statements, "CREATE TABLE public."+unfinishedRestore+" (begun timestamptz NOT NULL DEFAULT now())")
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for _, sql := range statements {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return fmt.Errorf("prepare the database: %w", err)
				}
			}
			return nil
		})
	})
}

// makeRoles makes the roles that a dump grants rights to; they belong to the cluster.
const makeRoles = `DO $$ BEGIN
	IF to_regrole('` + roleApp + `') IS NULL THEN
		CREATE ROLE ` + roleApp + ` NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
	END IF;
	IF to_regrole('` + roleSystem + `') IS NULL THEN
		CREATE ROLE ` + roleSystem + ` NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
	END IF;
	GRANT ` + roleApp + `, ` + roleSystem + ` TO current_user;
END $$`

// FinishDump takes the mark away.
func FinishDump(ctx context.Context, ownerURL string) error {
	return once(ctx, ownerURL, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "DROP TABLE IF EXISTS public."+unfinishedRestore)
		return err
	})
}

// CheckFinished refuses a database into which a dump was not restored to the end.
func CheckFinished(ctx context.Context, ownerURL string) error {
	return once(ctx, ownerURL, func(conn *pgx.Conn) error {
		var marked bool
		err := conn.QueryRow(ctx, "SELECT to_regclass('public."+unfinishedRestore+"') IS NOT NULL").Scan(&marked)
		if err == nil && marked {
			err = errors.New("the restore of a dump into this database was not finished: run fleetboard restore again")
		}
		return err
	})
}

// program prepares a program of PostgreSQL, of the version of a server or a newer one. Its password does
// not stand on the command line, where others of the machine could read it.
func program(ctx context.Context, name string, major int, ownerURL string, args ...string) (*exec.Cmd, *bytes.Buffer, error) {
	path, err := findProgram(ctx, name, major)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := pgx.ParseConfig(ownerURL)
	address, ok := parseLocation(ownerURL)
	if err != nil || !ok {
		return nil, nil, errors.New("the database address cannot be read")
	}
	cmd := exec.CommandContext(ctx, path, append(args, "--dbname="+address.withoutPassword())...)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+cfg.Password, "PGAPPNAME=fleetboard backup", "LC_ALL=C")
	var said bytes.Buffer
	cmd.Stderr = &said
	return cmd, &said, nil
}

// findProgram finds a program of that version of PostgreSQL or of a newer one, the oldest of them.
func findProgram(ctx context.Context, name string, major int) (best string, err error) {
	lowest := 0
	for _, dir := range defaultSearchDirs() {
		path := filepath.Join(dir, name)
		out, err := exec.CommandContext(ctx, path, "--version").Output() // "pg_dump (PostgreSQL) 15.14 (Debian ...)"
		_, rest, found := strings.Cut(string(out), ") ")
		if err != nil || !found {
			continue
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if version, _ := strconv.Atoi(rest[:max(end, 0)]); version >= major && (best == "" || version < lowest) {
			best, lowest = path, version
		}
	}
	if best == "" {
		return "", fmt.Errorf("%s of PostgreSQL %d or newer was not found: install it (Debian: apt install postgresql-client-%d)",
			name, major, major)
	}
	return best, nil
}

// explain makes a sentence of a program's end.
func explain(name string, err error, said string) error {
	if strings.Contains(said, "row-level security policy") {
		return fmt.Errorf("%s may not read all rows: run ALTER ROLE … BYPASSRLS for the login of DATABASE_URL as a superuser, "+
			"or name such a login in FLEETBOARD_BACKUP_DATABASE_URL: %s", name, lastLines(said, reasonLines))
	}
	return fmt.Errorf("%s: %w: %s", name, err, lastLines(said, reasonLines))
}

// ClockOffset returns by how much the clock of a database is ahead of this machine's.
func ClockOffset(ctx context.Context, ownerURL string) (ahead time.Duration, err error) {
	err = once(ctx, ownerURL, func(conn *pgx.Conn) error {
		var theirs time.Time
		before := time.Now()
		err := conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&theirs)
		ahead = theirs.Sub(before.Add(time.Since(before) / 2))
		return err
	})
	return ahead, err
}
