package settings

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// WorkspacePage is the workspace's own page, and the way to another one.
type WorkspacePage struct {
	Shell     layout.Shell
	Name      string // as it is, or as it was typed
	Slug      string
	Since     ui.When
	Role      string
	CanRename bool
	Errors    map[string]string // by field: name, new_name
	Error     string

	// NeedsFactor is whether members need a second factor; owners change it.
	NeedsFactor bool

	CanCreate bool
	NewName   string
}
