package setup

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// setupLinkLife is how long a set-up link can be used.
const setupLinkLife = 7 * 24 * time.Hour

// SetUpAccount reports whether a set-up link's token can still be used.
func (s *Service) SetUpAccount(ctx context.Context, token string) (bool, error) {
	if kind, ok := secrets.Kind(token); !ok || kind != secrets.Setup {
		return false, nil
	}
	var valid bool
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		var err error
		valid, err = setupLinkValidTx(ctx, tx, secrets.Hash(token))
		return err
	})
	return valid, err
}

// Owner is what the set-up page requests.
type Owner struct {
	Name, Email string
	Password    string // 12..128 characters
	Workspace   string // the name of the first workspace; "" leaves it
}

// SetUp names the account of a set-up link, gives it a password, and names the first
// workspace. The link is used up, and the account's sessions end. Faults: NotFound for
// a link that is unknown, used or expired; Validation with the fields name, email,
// password, workspace, after which the link can still be used.
func (s *Service) SetUp(ctx context.Context, token string, in Owner) (people.Account, error) {
	in.Name, in.Email, in.Workspace = strings.TrimSpace(in.Name), people.NormalEmail(in.Email), strings.TrimSpace(in.Workspace)
	valid, err := s.SetUpAccount(ctx, token)
	if err != nil {
		return people.Account{}, err
	}
	if !valid {
		return people.Account{}, linkOver()
	}
	if err := in.validate(); err != nil {
		return people.Account{}, err
	}
	hash, err := s.passwords.Hash(ctx, passwords.Asker{Name: "set-up", Known: true}, in.Password)
	if err != nil {
		return people.Account{}, err
	}
	var done people.Account
	err = s.db.In(ctx, db.None, func(tx db.Tx) error {
		account, ok, err := useSetupLinkTx(ctx, tx, secrets.Hash(token))
		if err != nil {
			return err
		}
		if !ok {
			return linkOver()
		}
		done = people.Account{ID: account, Email: in.Email, Name: in.Name}
		return setUpTx(ctx, tx, done, hash)
	})
	if fault.Is(err, fault.AlreadyExists) {
		return people.Account{}, fault.Invalid("email", "This e-mail cannot be taken. Choose another one.")
	}
	if err != nil {
		return people.Account{}, err
	}
	return done, s.nameWorkspace(ctx, done, in.Workspace)
}

func (o Owner) validate() error {
	wrong := fault.Problems{}
	if err := people.Validate(o.Name, o.Email, o.Password); err != nil {
		maps.Copy(wrong, fault.From(err).Fields)
	}
	if o.Workspace != "" {
		if text := workspaces.NameProblem(o.Workspace); text != "" {
			wrong["workspace"] = text
		}
	}
	return wrong.Err()
}

// nameWorkspace names the workspace of its new owner.
func (s *Service) nameWorkspace(ctx context.Context, owner people.Account, name string) error {
	if name == "" {
		return nil
	}
	who, err := s.workspaces.Person(ctx, owner.ID, ids.Nil)
	if err != nil {
		return err
	}
	return s.workspaces.Rename(ctx, who, name)
}

func linkOver() error {
	return fault.New(fault.NotFound,
		"This set-up link is not valid any more. A link works once and for seven days; restart the server for a new one.")
}

// freshSetupLink ends the account's older links and returns the token of a new
// one.
func (s *Service) freshSetupLink(ctx context.Context, account ids.ID) (string, error) {
	token := secrets.New(secrets.Setup)
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		// Two at the same moment would not see each other's link.
		if err := lockTx(ctx, tx, "set-up link "+account.String()); err != nil {
			return err
		}
		return replaceSetupLinkTx(ctx, tx, account, secrets.Hash(token), setupLinkLife)
	})
	if err != nil {
		return "", err
	}
	return token, nil
}
