package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/signal"
)

var errNoPidFile = errors.New("there is no postmaster.pid")

// adopt takes over the server of the cluster, in whatever namespace it runs. Only
// where there is none it returns the lock of the cluster instead. While a server
// starts or ends it waits.
//
// A process number proves nothing: it may belong to another namespace, or to
// another program by now. A server is there that answers on the socket, and none
// where the lock of the cluster is free.
func (e *Embedded) adopt(ctx context.Context) (lock *os.File, err error) {
	for told := false; ; told = true {
		answer := e.takeOver(ctx)
		if answer == nil {
			return nil, nil
		}
		if lock, err = e.claimUnserved(ctx); lock != nil || err != nil {
			return lock, err
		}
		if !told {
			e.log.Info("waiting for the PostgreSQL that has the database, which does not answer",
				"socket", e.cluster.run, "err", answer)
		}
		if signal.Sleep(ctx, pollEvery) != nil {
			return nil, fmt.Errorf("another PostgreSQL has the database in %s and cannot be reached at %s: "+
				"end it, or the container or machine it runs on, or set DATABASE_URL: %w", e.cluster.data(), e.cluster.run, answer)
		}
	}
}

// takeOver connects to the server that wrote postmaster.pid.
func (e *Embedded) takeOver(ctx context.Context) error {
	file, err := readPidFile(e.cluster.pidFile())
	if err != nil {
		return err
	}
	e.socket = e.cluster.run
	if err = e.identify(ctx, file); err != nil && file.socket != "" && file.socket != e.cluster.run {
		e.socket = file.socket
		err = e.identify(ctx, file)
	}
	e.pid = file.pid
	return err
}

// identify finds out from the server behind the socket whether it wrote the file. Its data
// directory would not do: another container may have it under another path.
func (e *Embedded) identify(ctx context.Context, file pidFile) error {
	conn, err := pgx.Connect(ctx, e.url("postgres"))
	if err != nil {
		return fmt.Errorf("connecting to the embedded PostgreSQL: %w", err)
	}
	defer closeQuietly(ctx, conn)
	var dir, text string
	err = conn.QueryRow(ctx, "SELECT current_setting('data_directory'), pg_read_file('postmaster.pid')").Scan(&dir, &text)
	if err != nil {
		return fmt.Errorf("asking the embedded PostgreSQL for its cluster: %w", err)
	}
	if parsePidFile(text) != file {
		return fmt.Errorf("the PostgreSQL at %s serves another cluster, %s", e.socket, dir)
	}
	return nil
}

// claimUnserved takes the lock of a cluster without a server, nil where there may
// be one. A server without the lock is one that an earlier version or a person
// started.
func (e *Embedded) claimUnserved(ctx context.Context) (*os.File, error) {
	lock, err := e.cluster.claim()
	if lock == nil || err != nil {
		return nil, err
	}
	file, err := readPidFile(e.cluster.pidFile())
	if errors.Is(err, errNoPidFile) {
		err = nil
	}
	if err != nil || e.cluster.servedBy(file.pid) || e.cluster.listens(ctx) {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

// clear removes the files by which a dead server would keep the next one from
// starting. The caller has the lock of the cluster.
func (c cluster) clear(log *slog.Logger) error {
	for _, path := range []string{c.pidFile(), c.socket() + ".lock"} {
		err := os.Remove(path)
		if err == nil {
			log.Info("removed a file that a dead PostgreSQL left", "path", path)
		} else if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing a file that a dead PostgreSQL left: %w", err)
		}
	}
	return nil
}

// listens reports whether a process listens on the socket, in whatever namespace.
func (c cluster) listens(ctx context.Context) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(context.WithoutCancel(ctx), "unix", c.socket())
	if err == nil {
		_ = conn.Close()
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOENT)
}

// servedBy reports whether the process is seen here and serves the cluster, which
// is the working directory of its server.
func (c cluster) servedBy(pid int) bool {
	cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	return err == nil && sameFile(cwd, c.data())
}

// pidFile is what postmaster.pid says. Its lines: process, data directory, start,
// port, socket directory, ...
type pidFile struct {
	pid    int
	start  string
	socket string
}

func readPidFile(path string) (pidFile, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return pidFile{}, errNoPidFile
	}
	if err != nil {
		return pidFile{}, fmt.Errorf("reading the server's process: %w", err)
	}
	return parsePidFile(string(text)), nil
}

func parsePidFile(text string) pidFile {
	lines := append(strings.Split(text, "\n"), make([]string, 5)...)
	pid, _ := strconv.Atoi(strings.TrimSpace(lines[0]))
	return pidFile{pid: max(pid, 0), start: lines[2], socket: strings.TrimSpace(lines[4])}
}

func (e *Embedded) reachable(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, e.url("postgres"))
	if err != nil {
		return err
	}
	closeQuietly(ctx, conn)
	return nil
}
