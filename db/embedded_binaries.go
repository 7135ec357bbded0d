package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// oldestMajor is the oldest PostgreSQL that the queries are written for.
const oldestMajor = 15

// binaries is a directory with the programs of one PostgreSQL.
type binaries struct {
	dir   string
	major int
}

func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }
func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }

// defaultSearchDirs is where the programs may be: PATH first, then the places
// of the usual packages.
func defaultSearchDirs() []string {
	var dirs []string
	if program, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(program))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
		"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
	} {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	return dirs
}

// findBinaries gives the newest PostgreSQL of the machine for a new cluster,
// and the same major version for one that is there. Where there is none it is
// fetched into the cluster's place.
func findBinaries(ctx context.Context, h host, c cluster, user *account, log *slog.Logger) (binaries, error) {
	want, err := c.major()
	if err != nil {
		return binaries{}, err
	}
	fetched := filepath.Join(c.dir, "server")
	dirs := append(append([]string{}, h.searchDirs...), filepath.Join(fetched, "bin"))
	best, tooOld := newest(ctx, dirs, user, want)
	if best.dir != "" {
		return best, nil
	}
	log.Info("no PostgreSQL found on this machine, fetching one", "into", fetched)
	fetchErr := h.fetch(ctx, c.dir, want)
	if fetchErr == nil {
		if best, _ = newest(ctx, dirs, user, want); best.dir != "" {
			return best, nil
		}
		fetchErr = errors.New("what was fetched does not run here")
	}
	return binaries{}, missingServer(want, tooOld, fetchErr)
}

// missingServer returns the one sentence for whoever has no PostgreSQL.
func missingServer(want int, tooOld bool, cause error) error {
	switch {
	case want > 0:
		return fmt.Errorf("the data directory was made by PostgreSQL %d, which is not installed: install it "+
			"(Debian: apt install postgresql-%d, macOS: brew install postgresql@%d) or set DATABASE_URL (fetching it failed: %w)",
			want, want, want, cause)
	case tooOld:
		return fmt.Errorf("the PostgreSQL of this machine is older than %d: install a newer one "+
			"(macOS: brew install postgresql@17) or set DATABASE_URL (fetching one failed: %w)", oldestMajor, cause)
	default:
		return fmt.Errorf("no PostgreSQL was found: install it "+
			"(Debian: apt install postgresql, macOS: brew install postgresql@17) or set DATABASE_URL (fetching one failed: %w)", cause)
	}
}

// newest picks among dirs the newest version, or the one that is wanted.
func newest(ctx context.Context, dirs []string, user *account, want int) (best binaries, tooOld bool) {
	for _, dir := range dirs {
		b := binaries{dir: dir}
		if _, err := os.Stat(b.initdb()); err != nil {
			continue
		}
		b.major = version(ctx, b, user)
		switch {
		case b.major == 0:
		case b.major < oldestMajor:
			tooOld = true
		case want == 0 && b.major > best.major, b.major == want && best.dir == "":
			best = b
		}
	}
	return best, tooOld
}

// version returns what the program says, as the account that shall run it; 0 where it cannot.
func version(ctx context.Context, b binaries, user *account) int {
	cmd := user.command(ctx, b.postgres(), "--version")
	cmd.Dir = "/"
	out, err := cmd.Output() // "postgres (PostgreSQL) 15.14 (Debian ...)", "... 18beta1"
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(out), ") ")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	major, _ := strconv.Atoi(rest[:max(end, 0)])
	return major
}

// major returns the version that made the cluster, 0 where there is none yet.
func (c cluster) major() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.data(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the database's version: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("reading the database's version: %w", err)
	}
	return major, nil
}

var fetchable = map[int]embeddedpostgres.PostgresVersion{
	0:  embeddedpostgres.V17,
	15: embeddedpostgres.V15,
	16: embeddedpostgres.V16,
	17: embeddedpostgres.V17,
	18: embeddedpostgres.V18,
}

// fetchBinaries downloads the programs of one major version (0: our choice)
// into dir/server. The library only fetches on its way to a running server with
// a network port, so it is given a locale that does not exist: it ends before.
func fetchBinaries(ctx context.Context, dir string, major int) error {
	release, ok := fetchable[major]
	if !ok {
		return fmt.Errorf("version %d cannot be fetched", major)
	}
	work := filepath.Join(dir, "download")
	server := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(release).Port(0).Locale("none-fetch-only").Logger(io.Discard).
		CachePath(work).RuntimePath(filepath.Join(work, "run")).
		BinariesPath(filepath.Join(dir, "server")))
	ended := make(chan error, 1)
	go func() { ended <- server.Start() }()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-ended:
		_ = os.RemoveAll(work)
		if _, missing := os.Stat(filepath.Join(dir, "server", "bin", "postgres")); missing == nil {
			return nil
		}
		return err
	}
}
