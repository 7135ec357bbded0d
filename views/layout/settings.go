package layout

import "github.com/fleetboard/fleetboard/views/links"

// SettingsTab is a page of the settings.
type SettingsTab string

// The tabs of the settings.
const (
	TabAccount   SettingsTab = "account"
	TabWorkspace SettingsTab = "workspace"
	TabMembers   SettingsTab = "members"
	TabProducts  SettingsTab = "products"
	TabDispatch  SettingsTab = "dispatch"
	TabTokens    SettingsTab = "tokens"
	TabWebhooks  SettingsTab = "webhooks"
	TabConnect   SettingsTab = "connect"
	TabSecrets   SettingsTab = "secrets"
	TabAudit     SettingsTab = "audit"

	TabNotifications SettingsTab = "notifications"
)

// settingsEntry is one line of the settings' navigation.
type settingsEntry struct {
	tab              SettingsTab
	href, icon, name string
	manage           bool // shown only to those who manage the workspace
}

var settingsEntries = []settingsEntry{
	{TabAccount, links.Account, "user", "Your account", false},
	{TabNotifications, links.Notifications, "bell", "Notifications", false},
	{TabWorkspace, links.Workspace, "settings", "Workspace", false},
	{TabMembers, links.Members, "users", "Members", false},
	{TabProducts, links.Products, "package", "Products and repos", false},
	{TabDispatch, links.Dispatch, "gauge", "Dispatch", true},
	{TabTokens, links.Tokens, "key-round", "Tokens", false},
	{TabWebhooks, links.Webhooks, "webhook", "Webhooks", true},
	{TabConnect, links.Connect, "terminal", "Connect an agent", false},
	{TabSecrets, links.Secrets, "lock", "Encryption", true},
	{TabAudit, links.Audit, "scroll-text", "Audit", true},
}

// visibleSettings returns the entries that a person sees.
func visibleSettings(s Shell) []settingsEntry {
	var list []settingsEntry
	for _, e := range settingsEntries {
		if !e.manage || s.CanManage {
			list = append(list, e)
		}
	}
	return list
}
