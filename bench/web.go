package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 20 * time.Second
)

// web is a server's process, with a database of its own beside the dataset.
type web struct {
	ownDatabase

	environment *environment
	program     string // the server as it is released
	dir         string
	env         []string
	url         string
	name        string // of the database
	cmd         *exec.Cmd
	logs        *os.File
	ended       chan struct{}
	beside      []*web // further servers of the database
	called      atomic.Uint32
	filled      int // jobs written past the server
	// uncounted keeps the statistics as they are.
	uncounted bool
	// fresh keeps PostgreSQL from having looked at any table.
	fresh bool
	phase string // of the jobs that are submitted
}

// migrated is the database that those of servers are copies of.
const migrated = "bench_migrated"

// migratedDatabase makes one as a server leaves it at its first start, and gives its address.
func (s *environment) migratedDatabase(ctx context.Context, name string) (string, error) {
	if !s.hasMigrated {
		address, err := s.database(ctx, migrated)
		if err != nil {
			return "", err
		}
		if err := db.Migrate(ctx, address); err != nil {
			return "", err
		}
		s.hasMigrated = true
	}
	return s.database(ctx, name+" TEMPLATE "+migrated)
}

// database makes an empty one and gives its address. The name may be followed by options.
func (s *environment) database(ctx context.Context, name string) (string, error) {
	if _, err := s.owner.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	name, _, _ = strings.Cut(name, " ")
	u, err := url.Parse(s.postgres.URL())
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// drop removes a database, so that nothing of it is swept or written out while
// something else is measured.
func (s *environment) drop(ctx context.Context, name string) error {
	for _, sql := range []string{"DROP DATABASE " + name + " WITH (FORCE)", "CHECKPOINT"} {
		if _, err := s.owner.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// build compiles a program of this module once and says where it is.
func (s *environment) build(ctx context.Context, pkg string) (string, error) {
	program := filepath.Join(s.dir, strings.ReplaceAll(pkg, "/", "-"))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	// #nosec G204 -- our own program
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w: %s", pkg, err, out)
	}
	return program, nil
}

// startWeb builds the server as it is released and starts it with an empty
// database of its own, without a limit of requests: a limit would be what is
// measured. More settings of the environment ("NAME=value") go before these.
func (s *environment) startWeb(ctx context.Context, settings ...string) (_ *web, err error) {
	s.webs++
	w := &web{environment: s, name: fmt.Sprint("bench_web_", s.webs), dir: filepath.Join(s.dir, fmt.Sprint("web-", s.webs))}
	if w.database, err = s.migratedDatabase(ctx, w.name); err != nil {
		return nil, err
	}
	if w.program, err = s.build(ctx, "github.com/fleetboard/fleetboard/cmd/web"); err != nil {
		return nil, err
	}
	w.env = append([]string{"FLEETBOARD_RATE_LIMIT=0", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, settings...)
	w.env = append(w.env, "DATABASE_URL="+w.database, "FLEETBOARD_DATA_DIR="+w.dir, "FLEETBOARD_LISTEN=127.0.0.1:0")
	return w, w.launch(ctx)
}

// add starts further servers on the database. Callers are spread over all from then on.
func (w *web) add(ctx context.Context, more int) error {
	for i := range more {
		other := &web{environment: w.environment, program: w.program, dir: w.dir, env: w.env, name: fmt.Sprint(w.name, "_", i+2)}
		if err := other.launch(ctx); err != nil {
			return err
		}
		w.beside = append(w.beside, other)
	}
	return nil
}

// launch starts the process and waits until it answers.
func (w *web) launch(ctx context.Context) error {
	run, profile, err := w.environment.profiled(ctx, w)
	if err != nil {
		return err
	}
	w.cmd = exec.CommandContext(ctx, run) // #nosec G204 -- our own program
	if w.logs, err = os.Create(filepath.Join(w.environment.dir, w.name+".log")); err != nil {
		return err
	}
	w.cmd.Env, w.cmd.Stderr = append(profile, w.env...), w.logs
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := w.cmd.Start(); err != nil {
		return err
	}
	at := make(chan string, 1)
	w.ended = make(chan struct{})
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if address, ok := strings.CutPrefix(lines.Text(), "Fleetboard is at "); ok {
				at <- address
			}
		}
		_ = w.cmd.Wait()
		close(w.ended)
	}()
	select {
	case w.url = <-at:
		return nil
	case <-w.ended:
		return fmt.Errorf("the server ended at its start: %s", w.tail())
	case <-time.After(startTimeout):
		return errors.Join(errors.New("the server did not start"), w.end())
	}
}

// withWeb lets a line do its work with a server of its own, checks afterwards
// whether what it left is right, and removes it.
func (s *environment) withWeb(ctx context.Context, work func(w *web) error, settings ...string) (err error) {
	w, err := s.startWeb(ctx, settings...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop(ctx)) }()
	if err := work(w); err != nil {
		return fmt.Errorf("%w\n%s", err, w.tail())
	}
	return w.inspect(ctx)
}

// stop ends the server, with those beside it, and removes its database.
func (w *web) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var slow []error
	for _, one := range append(w.beside, w) {
		slow = append(slow, one.end())
	}
	return errors.Join(append(slow, w.environment.drop(ctx, w.name))...)
}

// end ends the process.
func (w *web) end() error {
	defer func() { _ = w.logs.Close() }()
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-w.ended:
		return nil
	case <-time.After(stopTimeout):
		_ = w.cmd.Process.Kill()
		<-w.ended
		return errors.New("the server did not end when it was asked to")
	}
}

// ownDatabase is a server's database, looked at as its owner, a superuser whom no policy holds.
type ownDatabase struct {
	database string // the owner's address of it
}

func (d ownDatabase) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, d.database)
}

// asOwner lets work use a connection.
func (d ownDatabase) asOwner(ctx context.Context, work func(*pgx.Conn) error) error {
	owner, err := d.connect(ctx)
	if err != nil {
		return err
	}
	return errors.Join(work(owner), owner.Close(ctx))
}

// exec runs a statement with all rights.
func (d ownDatabase) exec(ctx context.Context, sql string, args ...any) error {
	return d.asOwner(ctx, func(owner *pgx.Conn) error {
		_, err := owner.Exec(ctx, sql, args...)
		return err
	})
}

// inspect checks whether the rows agree and whether the log gives the state, and
// whether all that was durable: what was fast and wrong does not count.
func (w *web) inspect(ctx context.Context) error {
	if err := w.environment.durable(ctx); err != nil {
		return err
	}
	began := time.Now()
	for _, command := range []string{"audit", "verify-log"} {
		cmd := exec.CommandContext(ctx, w.program, command) // #nosec G204 -- our own program
		cmd.Env = w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %.2000s", command, err, out)
		}
	}
	w.environment.sayf("audit and verify-log found nothing (%.1f s)", time.Since(began).Seconds())
	return nil
}

// tail returns the end of what the server logged.
func (w *web) tail() string {
	text, _ := os.ReadFile(w.logs.Name())
	return string(text[max(0, len(text)-2000):])
}
