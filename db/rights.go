package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// checkRoles reports in a sentence whether the application's login may take both roles.
func (d *DB) checkRoles(ctx context.Context, login string) error {
	for _, role := range []struct {
		name string
		sees Scope
	}{{roleApp, None}, {roleSystem, System}} {
		err := d.In(ctx, role.sees, func(tx Tx) error {
			_, err := tx.Exec(ctx, "SELECT")
			return err
		})
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == stateNoPrivilege {
			return fmt.Errorf("the login %s may not take the role %s: run GRANT %s, %s TO %s as the owner of the database",
				login, role.name, roleApp, roleSystem, login)
		}
		if err != nil {
			return fmt.Errorf("the database does not answer: %w", err)
		}
	}
	return nil
}

// ownerRights is what a login has of what migrations need.
const ownerRights = `SELECT current_user, current_database(), r.rolinherit, has_schema_privilege('public', 'CREATE')
	AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = to_regclass('public.workspace') AND NOT pg_has_role(c.relowner, 'USAGE')),
	r.rolcreaterole OR r.rolsuper OR (SELECT count(*) = 2 FROM pg_roles m WHERE m.rolname IN ('` + roleApp + `', '` + roleSystem + `'))
	FROM pg_roles r WHERE r.rolname = current_user`

// checkOwner says in a sentence what a login lacks that is to migrate.
func checkOwner(ctx context.Context, conn *sql.Conn) error {
	var login, database string
	var inherits, owns, hasRoles bool
	if err := conn.QueryRowContext(ctx, ownerRights).Scan(&login, &database, &inherits, &owns, &hasRoles); err != nil {
		return fmt.Errorf("reading the rights of the login: %w", err)
	}
	switch {
	case !owns && !inherits:
		return fmt.Errorf("the login %s of DATABASE_URL does not inherit the rights of the owner of the database: "+
			"run ALTER ROLE %s INHERIT, or name the owner's own login", login, login)
	case !owns:
		return fmt.Errorf("the login %s of DATABASE_URL does not own the database: run ALTER DATABASE %s OWNER TO %s",
			login, database, login)
	case !hasRoles:
		return fmt.Errorf("the login %s of DATABASE_URL may not create roles: run ALTER ROLE %s CREATEROLE", login, login)
	}
	return nil
}
