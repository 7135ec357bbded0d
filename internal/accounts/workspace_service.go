package accounts

import (
	"fleetboard/db"
)

// workspaceService makes workspaces and says who belongs to which. It is safe for
// concurrent use.
type workspaceService struct {
	db      *db.DB
	members *memberService
}

// newWorkspaceService returns the service.
func newWorkspaceService(d *db.DB, list *memberService) *workspaceService {
	return &workspaceService{db: d, members: list}
}
