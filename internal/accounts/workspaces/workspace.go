package workspaces

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The workspace that the first start makes, and the product that each begins with.
const (
	FirstSlug    = "default"
	FirstName    = "Default"
	FirstProduct = "default"
)

const (
	// MaxName is the length of a workspace's name in characters.
	MaxName = 100
	// maxSlug leaves space for a number behind it; see workspace.slug.
	maxSlug = 50
	// slugTries bounds the numbers that are tried behind a name before the slug
	// ends in random letters instead.
	slugTries = 20
	// MaxPerPerson are those that a person may be in, to make one more.
	MaxPerPerson = 100
)

// Facts is a workspace as its own page shows it.
type Facts struct {
	Slug, Name string
	Since      time.Time
	// NeedsFactor is whether members need a second factor.
	NeedsFactor bool
}

// Facts reads the caller's workspace. It needs ReadBoard. Fault:
// Forbidden.
func (s *Service) Facts(ctx context.Context, who tenancy.Principal) (Facts, error) {
	if !who.Can(tenancy.ReadBoard) {
		return Facts{}, fault.New(fault.Forbidden, "Only members see the workspace.")
	}
	var f Facts
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		var err error
		f, err = getTx(ctx, tx, who.Workspace)
		return err
	})
	return f, err
}

// Rename gives the caller's workspace another name of 1..100 characters;
// its slug stays. It needs Own. Faults: Forbidden, Validation (name),
// VersionConflict where another name was given at the same moment.
func (s *Service) Rename(ctx context.Context, who tenancy.Principal, name string) error {
	if !who.Can(tenancy.Own) {
		return fault.New(fault.Forbidden, "Only an owner renames the workspace.")
	}
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return err
	}
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		was, err := getTx(ctx, tx, who.Workspace)
		if err != nil || was.Name == name {
			return err
		}
		ok, err := renameTx(ctx, tx, who.Workspace, was.Name, name)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.VersionConflict, "Somebody else has just renamed the workspace. Look at its name, then try again.")
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.WorkspaceRenamed, map[string]any{"slug": was.Slug},
			eventlog.Change{Field: "name", Old: was.Name, New: name})
	})
}

// RequireSecondFactor says whether members who log in with a password need a
// second factor in the caller's workspace. Who has none is led to set it up and can
// do nothing else there, neither in the browser nor with personal tokens. It needs
// Own. Faults: Forbidden; InvalidTransition for an owner without one.
func (s *Service) RequireSecondFactor(ctx context.Context, who tenancy.Principal, required bool) error {
	if !who.Can(tenancy.Own) {
		return fault.New(fault.Forbidden, "Only an owner does this.")
	}
	changed := false
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		profile, _, err := people.ProfileTx(ctx, tx, who.Account)
		if err != nil {
			return err
		}
		if required && profile.HasPassword && profile.SecondFactorSince == nil {
			return fault.New(fault.InvalidTransition, "Turn on your own second factor first, under Your account.")
		}
		if changed, err = requireFactorTx(ctx, tx, who.Workspace, required); err != nil || !changed {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.WorkspaceFactorSet, nil,
			eventlog.Change{Field: "require_second_factor", Old: !required, New: required})
	})
	if err == nil && changed {
		s.members.Changed(who.Workspace)
	}
	return err
}

// Create makes a workspace with the product `default` and the caller as
// its owner. Its slug follows from the name. It needs Manage in the workspace
// that the caller is in. Faults: Forbidden, Validation (name), InUse for somebody
// who is in very many.
func (s *Service) Create(ctx context.Context, who tenancy.Principal, name string) (Workspace, error) {
	if who.Kind != tenancy.KindPerson || !who.Can(tenancy.Manage) {
		return Workspace{}, fault.New(fault.Forbidden, "Workspaces are made by people who manage one.")
	}
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return Workspace{}, err
	}
	list, err := s.Of(ctx, who.Account)
	if err != nil {
		return Workspace{}, err
	}
	if len(list) >= MaxPerPerson {
		return Workspace{}, fault.New(fault.InUse, "You are in %d workspaces, and more cannot be made.", len(list))
	}
	w := Workspace{ID: ids.New(), Name: name, Role: tenancy.RoleOwner}
	base := makeSlug(name)
	for n := 1; ; n++ {
		w.Slug = numberedSlug(base, n)
		made, err := s.createWorkspace(ctx, who, w)
		if err != nil {
			return Workspace{}, err
		}
		if made {
			return w, nil
		}
	}
}

// createWorkspace reports false where the slug is taken.
func (s *Service) createWorkspace(ctx context.Context, who tenancy.Principal, w Workspace) (made bool, err error) {
	err = s.db.In(ctx, db.Workspace(w.ID), func(tx db.Tx) error {
		if made, err = MakeTx(ctx, tx, w); err != nil || !made {
			return err
		}
		if _, err := members.AddTx(ctx, tx, w.ID, who.Account, tenancy.RoleOwner); err != nil {
			return err
		}
		who.Workspace, who.Role = w.ID, tenancy.RoleOwner
		return eventlog.RecordTx(ctx, tx, who, eventlog.WorkspaceCreated, map[string]any{"slug": w.Slug, "name": w.Name})
	})
	return made, err
}

func checkName(name string) error {
	if text := NameProblem(name); text != "" {
		return fault.Invalid("name", "%s", text)
	}
	return nil
}

// NameProblem returns what must be of a workspace's name, "" where it is.
func NameProblem(name string) string {
	if n := utf8.RuneCountInString(name); n < 1 || n > MaxName {
		return fmt.Sprintf("Use 1 to %d characters.", MaxName)
	}
	wrong := fault.Problems{}
	wrong.Line("name", name, MaxName)
	return wrong["name"]
}

// makeSlug makes an address of a name: its Latin letters and digits, in lower
// case, with single dashes between them.
func makeSlug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxSlug {
			break
		}
	}
	slug := strings.Trim(b.String(), "-")
	if slug == "" {
		return "workspace"
	}
	return slug
}

// numberedSlug returns the n-th try for a slug: kestrel, kestrel-2, kestrel-3, and
// after many of them one that nobody else has.
func numberedSlug(base string, n int) string {
	switch {
	case n == 1:
		return base
	case n <= slugTries:
		return base + "-" + strconv.Itoa(n)
	default:
		return base + "-" + ids.New().String()[24:]
	}
}
