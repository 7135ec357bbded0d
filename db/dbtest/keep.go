package dbtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// noted are columns that note a use, which is no change.
const noted = `'{last_used_at,last_seen_at}'::text[]`

// Kept is all rows of a database at one moment: what a test compares with, and
// goes back to.
type Kept struct {
	t      testing.TB
	conn   *pgx.Conn
	tables []keptTable
	sums   map[string]string // of all rows of a table
	within ids.ID
	those  map[string]string // of the rows of one workspace and of its members
}

type keptTable struct {
	name    string
	columns string
	// of is what a row belongs to: workspace_id, the account in account_id or id,
	// or nothing of both.
	of string
}

// Keep notes the rows of d, and apart from them those of one workspace and of its
// members. d must come from New, and a test keeps once.
func Keep(t testing.TB, d *db.DB, workspace ids.ID) *Kept {
	t.Helper()
	k := &Kept{t: t, conn: Owner(t, d), within: workspace}
	rows, err := k.conn.Query(context.Background(), `
		SELECT c.relname::text, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum), coalesce(
			max(a.attname) FILTER (WHERE a.attname = 'workspace_id'), max(a.attname) FILTER (WHERE a.attname = 'account_id'),
			CASE c.relname WHEN 'account' THEN 'id' END, '')::text
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
		GROUP BY c.relname ORDER BY c.relname`)
	if err != nil {
		t.Fatalf("keep: %v", err)
	}
	k.tables, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (one keptTable, err error) {
		return one, row.Scan(&one.name, &one.columns, &one.of)
	})
	if err != nil {
		t.Fatalf("keep: %v", err)
	}
	k.exec("CREATE SCHEMA kept")
	for _, one := range k.tables {
		k.exec(fmt.Sprintf("CREATE TABLE kept.%s AS TABLE public.%[1]s", one.name))
	}
	k.sums, k.those = k.sum(ids.Nil), k.sum(workspace)
	return k
}

// Changed names the tables whose rows are others than those that were kept.
func (k *Kept) Changed() []string { return differ(k.sums, k.sum(ids.Nil)) }

// ChangedWithin is Changed for the rows of the workspace and of its members.
func (k *Kept) ChangedWithin() []string { return differ(k.those, k.sum(k.within)) }

// Restore brings all rows back.
func (k *Kept) Restore() {
	k.t.Helper()
	changed := k.Changed()
	if len(changed) == 0 {
		return
	}
	statements := []string{"BEGIN", "SET LOCAL session_replication_role = replica"}
	for _, one := range k.tables {
		if slices.Contains(changed, one.name) {
			statements = append(statements, "DELETE FROM public."+one.name, fmt.Sprintf(
				"INSERT INTO public.%s (%s) OVERRIDING SYSTEM VALUE SELECT %[2]s FROM kept.%[1]s", one.name, one.columns))
		}
	}
	k.exec(strings.Join(append(statements, "COMMIT"), "; "))
}

// sum gives a checksum of each table's rows, of one workspace or of all.
func (k *Kept) sum(workspace ids.ID) map[string]string {
	k.t.Helper()
	var parts []string
	for _, one := range k.tables {
		where := ""
		switch {
		case workspace == ids.Nil:
		case one.of == "":
			continue
		case one.of == "workspace_id":
			where = "WHERE workspace_id = '" + workspace.String() + "'"
		default:
			where = "WHERE " + one.of + " IN (SELECT account_id FROM kept.membership WHERE workspace_id = '" + workspace.String() + "')"
		}
		parts = append(parts, fmt.Sprintf(`SELECT '%s', md5(coalesce(string_agg(row, E'\n' ORDER BY row), '')) FROM (
			SELECT (to_jsonb(t) - %s)::text AS row FROM public.%[1]s t %[3]s) s`, one.name, noted, where))
	}
	rows, err := k.conn.Query(context.Background(), strings.Join(parts, " UNION ALL "))
	if err != nil {
		k.t.Fatalf("checksum: %v", err)
	}
	sums := map[string]string{}
	var name, sum string
	if _, err = pgx.ForEachRow(rows, []any{&name, &sum}, func() error { sums[name] = sum; return nil }); err != nil {
		k.t.Fatalf("checksum: %v", err)
	}
	return sums
}

func (k *Kept) exec(sql string) {
	k.t.Helper()
	if _, err := k.conn.Exec(context.Background(), sql); err != nil {
		k.t.Fatalf("%.300s: %v", sql, err)
	}
}

func differ(before, after map[string]string) []string {
	var names []string
	for name, sum := range before {
		if after[name] != sum {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
