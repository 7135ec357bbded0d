package login

import "github.com/fleetboard/fleetboard/views/ui"

// The fields of the forms, in their order, as their error summaries name them.
var (
	joinFields  = []ui.Field{{Name: "name", Label: "Name"}, {Name: "email", Label: "E-mail"}, {Name: "password", Label: "Password"}}
	setupFields = []ui.Field{{Name: "workspace", Label: "Workspace"}, {Name: "name", Label: "Your name"}, {Name: "email", Label: "E-mail"},
		{Name: "password", Label: "Password"}}
)
