package workspaces_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/workspaces"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestPersonAndWorkspaces(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	conn := dbtest.Owner(t, s.DB)
	owner, foreign := s.Owner(t), dbfactory.Foreigner(t, conn)

	list, err := s.Workspaces.Of(t.Context(), owner.Account)
	if err != nil || len(list) != 1 || list[0].Slug != workspaces.FirstSlug || list[0].Role != tenancy.RoleOwner {
		t.Fatalf("workspaces = %+v, %v", list, err)
	}
	who, err := s.Workspaces.Person(t.Context(), owner.Account, foreign.Workspace)
	if err != nil || who.Workspace != s.First.Workspace || who.Role != tenancy.RoleOwner {
		t.Errorf("in a workspace that is not his he is %+v, %v", who, err)
	}
	_, err = s.Workspaces.Person(t.Context(), ids.New(), ids.Nil)
	accountstest.WantFault(t, err, fault.Unauthenticated)

	accountstest.Exec(t, conn, "INSERT INTO membership (workspace_id, account_id, role) VALUES ($1, $2, 'viewer')", foreign.Workspace, owner.Account)
	who, err = s.Workspaces.Person(t.Context(), owner.Account, foreign.Workspace)
	if err != nil || who.Role != tenancy.RoleViewer || who.Workspace != foreign.Workspace {
		t.Errorf("chosen workspace: %+v, %v", who, err)
	}
	who, err = s.Workspaces.Person(t.Context(), owner.Account, ids.Nil)
	if err != nil || who.Workspace != s.First.Workspace {
		t.Errorf("first by name: %+v, %v", who, err)
	}
}
