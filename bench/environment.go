package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
)

const closeTimeout = time.Minute

// environment is the PostgreSQL that everything is measured on.
type environment struct {
	rows     int
	long     bool   // the large sizes
	fairness string // the calls that fairness measures, separated by commas; empty is all
	profiles string // where profiles of the servers go; empty is nowhere
	machine  string
	out      io.Writer
	line     string // the one that is measured

	dir      string
	postgres *db.Embedded
	owner    *pgx.Conn
	loaded   *dataset // once it was needed
	webs     int      // how many servers were started
	// hasMigrated says whether there is a database to copy.
	hasMigrated bool
	beside      *riverRates
}

// sized returns the part of full that belongs to the chosen number of rows, of which
// a million is all, but not less than least.
func (s *environment) sized(full, least int) int {
	return max(least, int(float64(full)*float64(s.rows)/defaultRows))
}

// lasting is sized for a time, with a whole second at least.
func (s *environment) lasting(full time.Duration) time.Duration {
	return time.Duration(s.sized(int(full), int(time.Second)))
}

// prepare starts and migrates a new database, and makes sure that it keeps its
// promises: figures without durability are none.
func prepare(ctx context.Context, getenv func(string) string, out io.Writer) (_ *environment, err error) {
	s := &environment{out: out, long: getenv("FLEETBOARD_BENCH_LONG") != "", fairness: getenv("FLEETBOARD_FAIRNESS")}
	if s.profiles, err = profilesFrom(getenv); err != nil {
		return nil, err
	}
	if s.rows, err = rowsFrom(getenv); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(getenv("FLEETBOARD_BENCH_DIR"), "fleetboard-bench-"); err != nil {
		return nil, fmt.Errorf("a place for the database: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	// As root PostgreSQL runs as another user, who has to pass through.
	if err := os.Chmod(s.dir, 0o711); err != nil { // #nosec G302 -- the cluster inside is closed
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	if s.postgres, err = db.StartEmbedded(ctx, filepath.Join(s.dir, "data"), quiet, s.databaseSettings()...); err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, s.postgres.URL()); err != nil {
		return nil, err
	}
	if s.owner, err = pgx.Connect(ctx, s.postgres.URL()); err != nil {
		return nil, err
	}
	return s, s.check(ctx)
}

// check asserts durability and describes the machine.
func (s *environment) check(ctx context.Context) error {
	if err := s.durable(ctx); err != nil {
		return err
	}
	var version, buffers string
	if err := s.owner.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('shared_buffers')`).Scan(&version,
		&buffers); err != nil {
		return err
	}
	version, _, _ = strings.Cut(version, " ")
	s.machine = fmt.Sprintf("%s/%s, %d cores, %s; PostgreSQL %s, shared_buffers %s, fsync and synchronous_commit on; %s",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), version, buffers, runtime.Version())
	return nil
}

// durable asserts that what is committed is on the disk, for every role and database.
func (s *environment) durable(ctx context.Context) error {
	var fsync, commit, pages string
	var others int
	err := s.owner.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit'),
		current_setting('full_page_writes'),
		(SELECT count(*) FROM pg_db_role_setting WHERE setconfig::text LIKE '%synchronous_commit%')`).Scan(&fsync, &commit, &pages, &others)
	if err != nil {
		return err
	}
	if fsync != "on" || commit != "on" || pages != "on" || others > 0 {
		return fmt.Errorf("fsync is %s, synchronous_commit %s (another one for %d roles or databases), "+
			"full_page_writes %s; nothing is measured without them",
			fsync, commit, others, pages)
	}
	return nil
}

// processor returns the name of the processor, where the system gives it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "an unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return oneLine(value)
		}
	}
	return "an unknown processor"
}

// close ends the database and removes it.
func (s *environment) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var errs []error
	if s.owner != nil {
		errs = append(errs, s.owner.Close(ctx))
	}
	if s.postgres != nil {
		errs = append(errs, s.postgres.Stop(ctx))
	}
	// Where PostgreSQL's user cannot reach the folder, the cluster lies elsewhere.
	if place, err := os.ReadFile(filepath.Join(s.dir, "data", "postgres.location")); err == nil {
		errs = append(errs, os.RemoveAll(strings.TrimSpace(string(place))))
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// sayf prints what is being done, on a line that begins with #.
func (s *environment) sayf(format string, args ...any) {
	fmt.Fprintf(s.out, "# "+format+"\n", args...)
}
