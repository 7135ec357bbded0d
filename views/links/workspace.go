package links

// Actions about workspaces.
const (
	// Workspaces takes name and makes one.
	Workspaces = "/workspaces"
	// SwitchWorkspace takes workspace and next.
	SwitchWorkspace = Workspaces + "/switch"
	// NewWorkspace is where the form for one stands.
	NewWorkspace = Workspace + "#new"
)
