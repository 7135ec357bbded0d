package settings

import "github.com/fleetboard/fleetboard/views/ui"

// The fields of the forms, in their order, as their error summaries name them.
var (
	nameField      = ui.Field{Name: "name", Label: "Name"}
	newNameField   = ui.Field{Name: "new_name", Label: "Name"}
	passwordFields = []ui.Field{{Name: "current", Label: "Current password"}, {Name: "password", Label: "New password"}}
	inviteFields   = []ui.Field{{Name: "email", Label: "E-mail"}, {Name: "role", Label: "Role"}}
)
