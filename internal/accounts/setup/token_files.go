package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The files that hold the first tokens, for commands on the same machine.
const (
	OwnerTokenFile     = "owner-token"
	EnrolmentTokenFile = "enrolment-token"
	// setUpName is who made them, in the log.
	setUpName = "set-up"
)

// tokenFiles sees to it that both files hold a token that works. A missing or
// useless one gets a new token, and the token that this directory had before is
// revoked; the tokens of another server's directory are left alone.
func (s *Service) tokenFiles(ctx context.Context, workspace, owner ids.ID, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the data directory: %w", err)
	}
	place, err := placeName(dir)
	if err != nil {
		return fmt.Errorf("the data directory: %w", err)
	}
	for file, kind := range map[string]tenancy.Kind{
		OwnerTokenFile:     tenancy.KindPerson,
		EnrolmentTokenFile: tenancy.KindEnrolment,
	} {
		who := tenancy.Principal{Kind: tenancy.KindPerson, Role: tenancy.RoleOwner, Workspace: workspace, Account: owner, Name: OwnerName}
		token := tokens.NewToken{Kind: kind, Name: file + " on " + place}
		if kind == tenancy.KindEnrolment { // whoever reads it here reads the owner's as well
			token.MaySubmit, token.Roles = true, []string{tenancy.AgentWorker, tenancy.AgentOrchestrator, tenancy.AgentReviewer}
		}
		if err := s.tokenFile(ctx, who, token, filepath.Join(dir, file)); err != nil {
			return fmt.Errorf("the file %s: %w", file, err)
		}
	}
	return nil
}

// tokenFile writes the file before it commits: a file with a token that the
// database does not know is mended by the next start, a token that nobody has
// would stay.
func (s *Service) tokenFile(ctx context.Context, who tenancy.Principal, in tokens.NewToken, path string) error {
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := lockTx(ctx, tx, "token file "+in.Name+" "+who.Workspace.String()); err != nil {
			return err
		}
		works, err := fileWorks(ctx, tx, path, in.Kind)
		if err != nil || works {
			return err
		}
		if err := tokens.RevokeNamedTx(ctx, tx, who.Workspace, in.Kind, in.Name); err != nil {
			return err
		}
		// Nobody is there who could have done it.
		plain, err := tokens.IssueTx(ctx, tx, who, tenancy.System(who.Workspace, setUpName), in)
		if err != nil {
			return err
		}
		return writeSecret(path, plain)
	})
}

// fileWorks reports whether the file holds a live token of the workspace and
// the kind.
func fileWorks(ctx context.Context, tx db.Tx, path string, kind tenancy.Kind) (bool, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	plain := strings.TrimSpace(string(content))
	if _, ok := secrets.Kind(plain); !ok {
		return false, nil
	}
	return tokens.LiveTx(ctx, tx, plain, kind)
}

// placeName distinguishes this directory on this machine from others, in the names of
// its tokens.
func placeName(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	sum := sha256.Sum256([]byte(host + "\n" + path))
	return people.Cut(host, 60) + " " + hex.EncodeToString(sum[:4]), nil
}

// writeSecret replaces the file as a whole, readable by its owner only.
func writeSecret(path, secret string) (err error) {
	// CreateTemp makes the file with mode 0600.
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(secret + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
