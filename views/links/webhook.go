package links

import "net/url"

// The pages of webhooks.
const (
	Webhooks   = "/settings/webhooks"
	NewWebhook = "/settings/webhooks/new"
)

// Webhook returns the page of a webhook and its deliveries; a form posts changes to it.
func Webhook(id string) string { return Webhooks + "/" + url.PathEscape(id) }

// WebhookEdit returns the form of a webhook.
func WebhookEdit(id string) string { return WebhookAction(id, "edit") }

// WebhookAction takes what the action is about. The action is a verb: pause, enable, rotate, test, delete.
func WebhookAction(id, action string) string { return Webhook(id) + "/" + url.PathEscape(action) }

// Redeliver takes nothing.
func Redeliver(webhook, delivery string) string {
	return Webhook(webhook) + "/deliveries/" + url.PathEscape(delivery) + "/redeliver"
}

// Deliveries returns the page of a webhook with the deliveries of a status, "" for all, from a cursor
// on, "" for the newest.
func Deliveries(webhook, status, cursor string) string {
	q := url.Values{}
	if status != "" {
		q.Set("status", status)
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if len(q) == 0 {
		return Webhook(webhook)
	}
	return Webhook(webhook) + "?" + q.Encode()
}
