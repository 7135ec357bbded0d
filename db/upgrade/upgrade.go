// Package upgrade finds out what the migrations that are to come would do to a database, without doing it.
package upgrade

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/schema"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Upgrade is what it takes to bring a database to this program's schema.
type Upgrade struct {
	Has, Needs int64
	Steps      []Step // the migrations that are to come, in their order
}

// Step is one migration, which is one transaction.
type Step struct {
	Version int64
	Name    string
	// Tables are those that it locks or writes, of those that are there before it.
	Tables []Table
}

// Table is what a migration does to a table.
type Table struct {
	Name string
	// Rows and Bytes are how large it is, with its indexes, as PostgreSQL counted last.
	Rows, Bytes int64
	// NoWrites says that nobody can write to it meanwhile, NoReads that nobody can read it either.
	NoWrites, NoReads bool
	// Rewrites says that all of it is written anew, Indexes how many indexes are built, Changes that rows
	// of it are changed.
	Rewrites, Changes bool
	Indexes           int
}

// How many bytes a second PostgreSQL gets through: a cautious figure for a slow disk.
const (
	rewriteRate = 20 << 20
	indexRate   = 30 << 20
	changeRate  = 5 << 20
	// moment is what a lock takes that nothing is done under.
	moment = 50 * time.Millisecond
	// dropTimeout bounds the wait until the empty database is dropped.
	dropTimeout = 10 * time.Second
)

// Takes estimates how long the migration holds its locks on the table.
func (t Table) Takes() time.Duration {
	seconds := float64(t.Indexes) * float64(t.Bytes) / indexRate
	if t.Rewrites {
		seconds += float64(t.Bytes) / rewriteRate
	}
	if t.Changes {
		seconds += float64(t.Bytes) / changeRate
	}
	return moment + time.Duration(seconds*float64(time.Second))
}

// Takes estimates how long the step takes: its locks are held until its end.
func (s Step) Takes() (sum time.Duration) {
	for _, t := range s.Tables {
		sum += t.Takes()
	}
	return max(sum, moment)
}

// Check finds out what db.Migrate would do to the database at ownerURL, and does none of it. It runs
// the migrations on an empty database of the same server, which it makes and drops, and asks PostgreSQL
// which tables each of them has locked, rewritten and indexed; the sizes are those of the database
// itself. A newer schema than this program's is a *db.SchemaError. The login must be allowed to make
// databases.
func Check(ctx context.Context, ownerURL string) (u Upgrade, err error) {
	var is *db.SchemaError
	err = db.CheckSchema(ctx, ownerURL)
	switch {
	case err == nil:
		u.Needs, err = db.SchemaVersion()
		u.Has = u.Needs
		return u, err
	case !errors.As(err, &is):
		return u, err
	}
	u.Has, u.Needs = is.Has, is.Needs
	switch {
	case is.Has > is.Needs:
		return u, is
	case is.Has == 0:
		return u, nil
	}
	sqldb, err := sql.Open("pgx", ownerURL)
	if err != nil {
		return u, errors.New("the database address cannot be read")
	}
	defer func() { _ = sqldb.Close() }()
	scratch, drop, err := scratchDatabase(ctx, sqldb, ownerURL)
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	if u.Steps, err = rehearse(ctx, scratch, is.Has); err != nil {
		return u, fmt.Errorf("trying the migrations on an empty database: %w", err)
	}
	sizes, err := tableSizes(ctx, sqldb)
	for i := range u.Steps {
		for j := range u.Steps[i].Tables {
			t := &u.Steps[i].Tables[j]
			t.Rows, t.Bytes = sizes[t.Name].Rows, sizes[t.Name].Bytes
		}
	}
	return u, err
}

// scratchDatabase makes an empty database beside the one at ownerURL.
func scratchDatabase(ctx context.Context, sqldb *sql.DB, ownerURL string) (address string, drop func() error, err error) {
	u, err := url.Parse(ownerURL)
	if err != nil {
		return "", nil, errors.New("the database address cannot be read")
	}
	name := "fleetboard_check_" + strings.ReplaceAll(ids.New().String(), "-", "")
	if _, err := sqldb.ExecContext(ctx, `CREATE DATABASE `+name+` TEMPLATE template0`); err != nil {
		return "", nil, fmt.Errorf("making an empty database to try the migrations on (the login needs CREATEDB): %w", err)
	}
	u.Path = "/" + name
	return u.String(), func() error {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
		defer cancel()
		if _, err := sqldb.ExecContext(limited, `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			return fmt.Errorf("dropping the database %s, which the migrations were tried on: %w", name, err)
		}
		return nil
	}, nil
}

// rehearse brings the empty database to the schema that the real one has, and then on, and says what
// each further step did.
func rehearse(ctx context.Context, address string, has int64) (steps []Step, err error) {
	watcher, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, err // it names the database
	}
	defer func() { _ = watcher.Close(context.WithoutCancel(ctx)) }()
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("the database address cannot be read")
	}
	locks := &lockTracer{watcher: watcher}
	cfg.Tracer = locks
	sqldb := stdlib.OpenDB(*cfg)
	defer func() { _ = sqldb.Close() }()
	migrations, err := goose.NewProvider(goose.DialectPostgres, sqldb, schema.FS, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("reading the migrations: %w", err)
	}
	if _, err := migrations.UpTo(ctx, has); err != nil {
		return nil, fmt.Errorf("to schema %d: %w", has, err)
	}
	for {
		before, err := readFiles(ctx, watcher)
		if err != nil {
			return nil, err
		}
		locks.begin()
		result, err := migrations.UpByOne(ctx)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return steps, nil
		}
		if err = errors.Join(err, locks.err); err != nil {
			return nil, err
		}
		after, err := readFiles(ctx, watcher)
		if err != nil {
			return nil, err
		}
		steps = append(steps, Step{Version: result.Source.Version, Name: strings.TrimSuffix(path.Base(result.Source.Path), ".sql"),
			Tables: compareFiles(before, after, locks.held)})
	}
}

// lockTracer asks, before a transaction is committed, which tables it has locked.
type lockTracer struct {
	watcher *pgx.Conn
	held    map[string]lockModes
	err     error
}

// lockModes are what is locked of a table.
type lockModes struct{ Writes, Reads, Changes bool }

func (l *lockTracer) begin() { l.held, l.err = map[string]lockModes{}, nil }

// TraceQueryStart is called before each statement.
func (l *lockTracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if l.held == nil || !strings.EqualFold(strings.TrimSpace(data.SQL), "commit") {
		return ctx
	}
	rows, err := l.watcher.Query(ctx, `SELECT c.relname,
			bool_or(k.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')),
			bool_or(k.mode = 'AccessExclusiveLock'), bool_or(k.mode = 'RowExclusiveLock')
		FROM pg_locks k JOIN pg_class c ON c.oid = k.relation JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE k.pid = $1 AND k.granted AND c.relkind IN ('r', 'p') AND n.nspname = 'public' AND c.relname <> 'goose_db_version'
		GROUP BY c.relname`, conn.PgConn().PID())
	if err != nil {
		l.err = errors.Join(l.err, err)
		return ctx
	}
	var name string
	var m lockModes
	_, err = pgx.ForEachRow(rows, []any{&name, &m.Writes, &m.Reads, &m.Changes}, func() error {
		l.held[name] = m
		return nil
	})
	l.err = errors.Join(l.err, err)
	return ctx
}

// TraceQueryEnd is called after each statement.
func (*lockTracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// tableFiles are where a table lies, and its indexes.
type tableFiles struct {
	file    uint32
	indexes map[string]bool
}

func readFiles(ctx context.Context, conn *pgx.Conn) (map[string]tableFiles, error) {
	rows, err := conn.Query(ctx, `SELECT c.relname, c.relfilenode, coalesce(array_agg(i.relname || ' ' || i.relfilenode)
			FILTER (WHERE i.oid IS NOT NULL), '{}')
		FROM pg_class c LEFT JOIN pg_index x ON x.indrelid = c.oid LEFT JOIN pg_class i ON i.oid = x.indexrelid
		WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY c.oid`)
	if err != nil {
		return nil, err // the caller says what it was for
	}
	tables := map[string]tableFiles{}
	var name string
	var file uint32
	var indexes []string
	_, err = pgx.ForEachRow(rows, []any{&name, &file, &indexes}, func() error {
		t := tableFiles{file: file, indexes: map[string]bool{}}
		for _, index := range indexes {
			t.indexes[index] = true
		}
		tables[name] = t
		return nil
	})
	return tables, err
}

// compareFiles says what a migration did to the tables that were there before it.
func compareFiles(before, after map[string]tableFiles, held map[string]lockModes) (list []Table) {
	for name, was := range before {
		m, locked := held[name]
		if !locked || !m.Writes && !m.Changes {
			continue
		}
		t := Table{Name: name, NoWrites: m.Writes, NoReads: m.Reads, Changes: m.Changes}
		if now, there := after[name]; there {
			t.Rewrites = now.file != was.file
			for index := range now.indexes {
				if !was.indexes[index] && !t.Rewrites { // a table that is written anew takes its indexes along
					t.Indexes++
				}
			}
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// tableSize is how large a table is.
type tableSize struct{ Rows, Bytes int64 }

func tableSizes(ctx context.Context, sqldb *sql.DB) (sizes map[string]tableSize, err error) {
	rows, err := sqldb.QueryContext(ctx, `SELECT c.relname, greatest(c.reltuples, 0)::bigint, pg_total_relation_size(c.oid)
		FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`)
	if err != nil {
		return nil, fmt.Errorf("reading the sizes of the tables: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	sizes = map[string]tableSize{}
	for rows.Next() {
		var name string
		var s tableSize
		if err := rows.Scan(&name, &s.Rows, &s.Bytes); err != nil {
			return nil, fmt.Errorf("reading the sizes of the tables: %w", err)
		}
		sizes[name] = s
	}
	return sizes, rows.Err()
}
