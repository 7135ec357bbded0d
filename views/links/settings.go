package links

// The pages of the settings, in the order of their tabs.
const (
	Settings = "/settings"
	Account  = "/settings/account"
	Members  = "/settings/members"
	Tokens   = "/settings/tokens"
	Connect  = "/settings/connect"
	// Tools is where programs call tools.
	Tools    = "/mcp"
	Secrets  = "/settings/secrets"
	Audit    = "/settings/audit"
	Dispatch = "/settings/dispatch"
	// Divergence is how often the factory that got a job was not the best one.
	Divergence = "/settings/dispatch/divergence"
	Workspace  = "/settings/workspace"
)
