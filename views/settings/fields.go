package settings

import "github.com/fleetboard/fleetboard/views/ui"

// The fields of the forms, in their order, as their error summaries name them.
var (
	nameField      = ui.Field{Name: "name", Label: "Name"}
	newNameField   = ui.Field{Name: "new_name", Label: "Name"}
	passwordFields = []ui.Field{{Name: "current", Label: "Current password"}, {Name: "password", Label: "New password"}}
	inviteFields   = []ui.Field{{Name: "email", Label: "E-mail"}, {Name: "role", Label: "Role"}}
	tokenFields    = []ui.Field{nameField, {Name: "life", Label: "Ends after"}, {Name: "products", Label: "Products"},
		{Name: "capabilities", Label: "Capabilities"}, {Name: "factory", Label: "Factory"}}
	productFields = []ui.Field{nameField, {Name: "repos", Label: "Repos"}, {Name: "review_limit", Label: "Review limit"},
		{Name: "merge_by", Label: "Merged by"}, {Name: "merge_method", Label: "Merged as"}, {Name: "merge_into", Label: "Branch"},
		{Name: "merge_checks", Label: "Check"},
		{Name: "branch_retention_days", Label: "Branches"}}
)
