package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func notificationsCommand(c *cli) *cobra.Command {
	return group("notifications", "What you are told of, where and when", append(c.verbsBelow("notifications"), notificationsSet(c))...)
}

// The names that notificationsSet takes.
var (
	notifiedBy = []string{"browser", "email", "webhook"}
	notifiedOf = []string{"review", "question", "failed", "budget", "agent_dead", "stopped"}
)

func notificationsSet(c *cli) *cobra.Command {
	cmd := c.command("set", "Change what you are told of\nChanges what is named; the rest stays.", "putNotifications")
	flags := cmd.Flags()
	by := flags.StringSlice("by", nil, "the `channels` to be told by: browser, email, webhook; none of them with --by none")
	on := flags.StringSlice("on", nil, "the `kinds` to be told of: review, question, failed, budget, agent_dead, stopped")
	quiet := flags.String("quiet", "", "`hours` in which you are told nothing, as 22:00-07:00; none")
	zone := flags.String("timezone", "UTC", "the `zone` of the quiet hours, as Europe/Berlin")
	digest := flags.Int("digest-minutes", 0, "tell what comes within so many `minutes` as one message; 0 is at once")
	after := flags.Int("escalate-minutes", 0, "tell --escalate-to of what is still open after so many `minutes`; 0 is never")
	next := flags.String("escalate-to", "", "the e-mail `address` of the member who is next")
	hook := flags.String("webhook-url", "", "the `address` of your own webhook")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given := map[string]any{}
		for _, one := range []struct {
			flag, field string
			list, known []string
		}{{"by", "channels", *by, notifiedBy}, {"on", "on", *on, notifiedOf}} {
			if !flags.Changed(one.flag) {
				continue
			}
			chosen, err := choose(one.list, one.known)
			if err != nil {
				return fail(exitUsage, "--%s: %w", one.flag, err)
			}
			given[one.field] = chosen
		}
		if flags.Changed("quiet") {
			from, to, fine := strings.Cut(*quiet, "-")
			if !fine && *quiet != "none" {
				return fail(exitUsage, "--quiet: must be hours like 22:00-07:00, or none")
			}
			if *quiet == "none" {
				from, to = "", ""
			}
			given["quiet_hours"] = map[string]any{"from": from, "to": to, "timezone": *zone}
		}
		if flags.Changed("digest-minutes") {
			given["digest_minutes"] = *digest
		}
		if flags.Changed("escalate-minutes") || flags.Changed("escalate-to") {
			given["escalate"] = map[string]any{"minutes": *after, "to": *next}
		}
		if flags.Changed("webhook-url") {
			given["webhook_url"] = *hook
		}
		if len(given) == 0 {
			return fail(exitUsage, "nothing is named that is to change")
		}
		change, err := parameters[api.NotificationChange](given)
		if err != nil {
			return fail(exitUsage, "%w", err)
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		return answer(c, printNotifications)(server.PutNotifications(cmd.Context(), *change))
	}
	return cmd
}

// choose returns all known names, each with whether it is in the list.
func choose(list, known []string) (map[string]bool, error) {
	chosen := map[string]bool{}
	for _, name := range known {
		chosen[name] = slices.Contains(list, name)
	}
	for _, name := range list {
		if !slices.Contains(known, name) && name != "none" {
			return nil, fmt.Errorf("%q must be one of %s, or none", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

func printNotifications(_ *screen, w io.Writer, n api.NotificationSettings) {
	out := facts{w}
	names := func(all []string, yes ...bool) string {
		var list []string
		for i, name := range all {
			if yes[i] {
				list = append(list, name)
			}
		}
		if len(list) == 0 {
			return "none"
		}
		return strings.Join(list, ", ")
	}
	out.line("by", names(notifiedBy, n.Channels.Browser, n.Channels.Email, n.Channels.Webhook))
	out.line("on", names(notifiedOf, n.On.Review, n.On.Question, n.On.Failed, n.On.Budget, n.On.AgentDead, n.On.Stopped))
	if n.QuietHours.From != "" {
		out.line("quiet", n.QuietHours.From+" to "+n.QuietHours.To+" "+n.QuietHours.Timezone)
	}
	if n.DigestMinutes > 0 {
		out.line("digest", fmt.Sprintf("%d minutes", n.DigestMinutes))
	}
	if n.Escalate.To != "" {
		out.line("next", fmt.Sprintf("%s after %d minutes", n.Escalate.To, n.Escalate.Minutes))
	}
	out.line("webhook", n.WebhookURL)
}

func printNotificationTest(_ *screen, w io.Writer, t api.NotificationTest) {
	out := facts{w}
	for _, c := range t.Items {
		text := "sent"
		if !c.Sent && c.Error != nil {
			text = *c.Error
		}
		out.line(c.Channel, text)
	}
}

func printBrowsers(_ *screen, w io.Writer, list api.BrowserList) {
	out := facts{w}
	for _, b := range list.Items {
		text := b.Browser
		if b.Outdated {
			text += " (must be switched on again)"
		}
		out.line(b.ID.String(), text)
	}
}
