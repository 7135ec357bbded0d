package db

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/signal"
)

// ErrLogEnds says that the write-ahead log ends before the time up to which it was to be replayed.
var ErrLogEnds = errors.New("the write-ahead log ends before that time")

// Restoration is a cluster that is made out of a base backup, in a data directory without one. One of
// Recover, Abandon and Leave ends it.
type Restoration struct {
	dataDir string
	cluster cluster
	lock    *os.File // held exclusively while it lasts
}

// BeginRestore makes the place of the cluster. What an unfinished restoration left there is removed,
// with the server that may still run on it; the caller knows that there is nothing else.
func BeginRestore(ctx context.Context, dataDir string, log *slog.Logger) (_ *Restoration, err error) {
	user, err := serverAccount()
	if err != nil {
		return nil, err
	}
	if err := makeDirs(dataDir, user); err != nil {
		return nil, err
	}
	r := &Restoration{dataDir: dataDir}
	if r.lock, err = lockFile(ctx, filepath.Join(dataDir, "postgres.lock")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			leave(r.lock)
		}
	}()
	if err := removeCluster(ctx, dataDir, user, log); err != nil {
		return nil, err
	}
	if r.cluster, err = findCluster(dataDir, user, fallbackRoot); err != nil {
		return nil, err
	}
	if err := r.cluster.recordPlace(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(r.cluster.fresh(), 0o700); err != nil {
		return nil, fmt.Errorf("making the database's directory: %w", err)
	}
	return r, user.own(r.cluster.fresh())
}

// removeCluster removes the cluster of a data directory.
func removeCluster(ctx context.Context, dataDir string, user *account, log *slog.Logger) error {
	c := cluster{dir: filepath.Join(dataDir, "postgres"), user: user, log: filepath.Join(dataDir, "postgres.log")}
	record := filepath.Join(dataDir, "postgres.location")
	if place, err := os.ReadFile(record); err == nil {
		c.dir = strings.TrimSpace(string(place))
	}
	if _, err := os.Stat(c.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var err error
	if c.run, err = c.socketDir(); err != nil {
		return err
	}
	left := &Embedded{log: log, cluster: c, socket: c.run}
	if err := left.shutDown(ctx); err != nil {
		return fmt.Errorf("ending the PostgreSQL of an unfinished restore: %w", err)
	}
	for _, path := range []string{c.dir, c.run, record} {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing an unfinished restore: %w", err)
		}
	}
	return nil
}

// Unpack writes the files of a cluster, a tar, each for the server's user alone.
func (r *Restoration) Unpack(archive io.Reader) error {
	for files := tar.NewReader(archive); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the archive of the cluster: %w", err)
		}
		if !filepath.IsLocal(head.Name) {
			return fmt.Errorf("the archive of the cluster has a file outside of it, %q", head.Name)
		}
		if err := r.unpackOne(head, files); err != nil {
			return err
		}
	}
}

func (r *Restoration) unpackOne(head *tar.Header, content io.Reader) error {
	path := filepath.Join(r.cluster.fresh(), head.Name)
	switch head.Typeflag {
	case tar.TypeDir:
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making a directory of the database: %w", err)
		}
		return r.cluster.user.own(path)
	case tar.TypeReg:
		return r.write(head.Name, content)
	default:
		return fmt.Errorf("the archive of the cluster has %q, which is neither a file nor a directory", head.Name)
	}
}

// Write writes a file of the cluster, by its name in it.
func (r *Restoration) Write(name string, content []byte) error {
	return r.write(name, strings.NewReader(string(content)))
}

func (r *Restoration) write(name string, content io.Reader) error {
	path := filepath.Join(r.cluster.fresh(), name)
	// PostgreSQL itself brings all files to the disk before it begins to recover.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing the database: %w", err)
	}
	_, err = io.Copy(file, content)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing the database: %w", err)
	}
	return r.cluster.user.give(path)
}

// Recover starts the server, which replays the write-ahead log: up to the last transaction that was
// committed until a time, to its end where that is zero. progress is told how far that is. The error is
// ErrLogEnds where the log ends before the time; it can be called again then.
func (r *Restoration) Recover(ctx context.Context, log *slog.Logger, until time.Time, progress func(lsn string)) (_ *Embedded, err error) {
	if err := r.Write("recovery.signal", nil); err != nil {
		return nil, err
	}
	if err := os.Rename(r.cluster.fresh(), r.cluster.data()); err != nil {
		return nil, fmt.Errorf("making the database: %w", err)
	}
	unlockFile(r.lock)
	// The log is in the cluster; no program fetches any of it.
	settings := []string{"restore_command=false", "recovery_target_action=promote", "hot_standby=on"}
	if !until.IsZero() {
		settings = append(settings, "recovery_target_time="+until.UTC().Format("2006-01-02 15:04:05.999999+00"))
	}
	e, err := StartEmbedded(ctx, r.dataDir, log, settings...)
	if err == nil {
		if err = e.promoted(ctx, progress); err == nil {
			leave(r.lock)
			return e, nil
		}
	}
	if e != nil {
		err = errors.Join(err, e.Stop(context.WithoutCancel(ctx)))
	}
	if !until.IsZero() && endedEarly(r.cluster.log) {
		return nil, errors.Join(ErrLogEnds, takeLock(ctx, r.lock), os.Rename(r.cluster.data(), r.cluster.fresh()))
	}
	leave(r.lock)
	return nil, err
}

// endedEarly reports whether the newest lines of a server's log say that the log to replay was too short.
func endedEarly(log string) bool {
	return strings.Contains(tail(log, tailLines), "recovery ended before configured recovery target was reached")
}

// promoted waits until the server has recovered.
func (e *Embedded) promoted(ctx context.Context, progress func(lsn string)) error {
	for {
		recovering, at, err := e.recovering(ctx)
		switch {
		case err == nil && !recovering:
			return nil
		case err == nil:
			progress(at)
		case !e.running(ctx):
			return fmt.Errorf("PostgreSQL ended while it recovered (see %s): %s", e.cluster.log, tail(e.cluster.log, reasonLines))
		}
		if err := signal.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

func (e *Embedded) recovering(ctx context.Context) (recovering bool, at string, err error) {
	conn, err := pgx.Connect(ctx, e.url("postgres"))
	if err != nil {
		return false, "", err
	}
	defer closeQuietly(ctx, conn)
	err = conn.QueryRow(ctx, "SELECT pg_is_in_recovery(), coalesce(pg_last_wal_replay_lsn()::text, '')").Scan(&recovering, &at)
	return recovering, at, err
}

// Leave keeps what was written, for the next BeginRestore to remove.
func (r *Restoration) Leave() { leave(r.lock) }

// Abandon removes what was written.
func (r *Restoration) Abandon(ctx context.Context, log *slog.Logger) error {
	defer leave(r.lock)
	return removeCluster(ctx, r.dataDir, r.cluster.user, log)
}

// RemoveEmbedded ends the server of a data directory and removes its cluster.
func RemoveEmbedded(ctx context.Context, dataDir string, log *slog.Logger) error {
	user, err := serverAccount()
	if err != nil {
		return err
	}
	return removeCluster(ctx, dataDir, user, log)
}

// AddDatabase makes an empty database for a login, a superuser that is made where it is not there, and
// returns its address: for a trial of a dump.
func (e *Embedded) AddDatabase(ctx context.Context, login string) (string, error) {
	name := pgx.Identifier{login}.Sanitize()
	err := once(ctx, e.url("postgres"), func(conn *pgx.Conn) error {
		var there bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", login).Scan(&there)
		if err == nil && !there {
			_, err = conn.Exec(ctx, "CREATE ROLE "+name+" LOGIN SUPERUSER")
		}
		if err == nil {
			_, err = conn.Exec(ctx, "CREATE DATABASE trial OWNER "+name+" TEMPLATE template0")
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make a database for the trial: %w", err)
	}
	address, err := url.Parse(e.url("trial"))
	if err != nil {
		return "", err
	}
	address.User = url.User(login)
	return address.String(), nil
}
