package cli_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestWebhooks makes a webhook, changes it and takes it away.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := newServerAndTerminal(t)
	holds := func(what, said string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(said, part) {
				t.Errorf("%s lacks %q:\n%s", what, part, said)
			}
		}
	}
	holds("no webhooks", w.fleet("webhook", "list").ok(), "There are no webhooks")
	said := w.fleet("webhook", "add", "https://93.184.215.14/hook", "--type", "job.*,budget.*").ok()
	holds("a new one", said, "secret", "whsec_", "budget.*, job.*")
	id := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).FindString(said)
	holds("the list", w.fleet("webhook", "list").ok(), id, "active")
	holds("a change", w.fleet("webhook", "set", id, "--type", "job.created").ok(), "job.created")
	holds("a pause", w.fleet("webhook", "pause", id).ok(), "paused")
	holds("the other way", w.fleet("webhook", "enable", id, "--skip-backlog").ok(), "active")
	holds("a new secret", w.fleet("webhook", "rotate", id, "--overlap", "2").ok(), "whsec_")
	holds("a test", w.fleet("webhook", "test", id).ok(), "webhook.test is on its way")
	listed := w.fleet("webhook", "deliveries", id, "--status", "pending").ok()
	holds("deliveries", listed, "webhook.test", "pending")
	holds("once more", w.fleet("webhook", "redeliver", regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).FindString(listed)).ok(), "on its way")
	holds("the end", w.fleet("webhook", "remove", id).ok(), "is gone")
	w.fleet("webhook", "set", id, "--type", "job.*").ends(4)
}
