package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func webhookCommand(c *cli) *cobra.Command {
	return group("webhook", "Webhooks: addresses to which events are sent",
		append(c.verbsBelow("webhook"), webhookAdd(c), webhookSet(c), webhookPause(c), webhookEnable(c), webhookRotate(c))...)
}

func printWebhooks(s *screen, w io.Writer, reply api.WebhookList) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "There are no webhooks. `fleet webhook add` makes one.")
		return
	}
	t := s.table("ID", "STATE", "EVENTS", "PRODUCTS", "PENDING", "DELIVERED", "URL").narrows("URL")
	for _, h := range reply.Items {
		t.row(h.ID, string(h.State), strings.Join(h.Types, ", "), strings.Join(h.Products, ", "), h.Pending,
			s.agoOrEmpty(h.DeliveredAt), h.URL)
	}
	t.print(w)
}

func printWebhook(s *screen, w io.Writer, h api.Webhook) {
	fmt.Fprintln(w, cleanLine(h.URL))
	out := facts{w}
	out.line("id", h.ID)
	state := string(h.State)
	if h.DisabledReason != nil {
		state += ": the receiver is " + string(*h.DisabledReason)
	}
	out.line("state", state)
	out.line("events", strings.Join(h.Types, ", "))
	out.line("products", strings.Join(h.Products, ", "))
	out.line("pending", h.Pending)
	out.line("delivered", s.agoOrEmpty(h.DeliveredAt))
}

func printWebhookSecret(s *screen, w io.Writer, made api.WebhookWithSecret) {
	printWebhook(s, w, made.Webhook)
	facts{w}.line("secret", made.Secret)
	fmt.Fprintln(w, "The secret is shown this once.")
}

func printWebhookDeliveries(s *screen, w io.Writer, page api.WebhookDeliveryPage) {
	if len(page.Items) == 0 {
		fmt.Fprintln(w, "There are no deliveries.")
		return
	}
	t := s.table("ID", "EVENT", "JOB", "STATUS", "ANSWER", "TRIES", "WHEN", "WHY").narrows("WHY")
	for _, d := range page.Items {
		answer := ""
		if d.ResponseStatus > 0 {
			answer = fmt.Sprint(d.ResponseStatus)
		}
		t.row(d.ID, d.Type, d.Job, string(d.Status), answer, d.Tries, s.ago(d.CreatedAt), d.Error)
	}
	t.print(w)
}

func printWebhookDelivery(_ *screen, w io.Writer, d api.WebhookDelivery) {
	fmt.Fprintf(w, "%s is on its way to the webhook %s; `fleet webhook deliveries` says what came of it.\n", cleanLine(d.Type), d.WebhookID)
}

// webhookFlags are what a webhook is made or changed with.
type webhookFlags struct {
	url             string
	types, products []string
}

func (f *webhookFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.types, "type", nil, "events of this `type`, as job.created or job.*; repeatable; all by default")
	cmd.Flags().StringSliceVar(&f.products, "product", nil, "events of jobs of this `product`; repeatable; all by default")
}

func webhookAdd(c *cli) *cobra.Command {
	cmd := c.command("add URL", "Make a webhook, and print its secret once", "createWebhook")
	var f webhookFlags
	f.add(cmd)
	cmd.RunE = callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
		in := api.NewWebhook{URL: args[0]}
		if len(f.types) > 0 {
			in.Types = &f.types
		}
		if len(f.products) > 0 {
			in.Products = &f.products
		}
		return server.CreateWebhook(ctx, in)
	}, printWebhookSecret)
	return cmd
}

func webhookSet(c *cli) *cobra.Command {
	cmd := c.command("set ID", "Change a webhook", "listWebhooks", "patchWebhook")
	cmd.Long = "Changes what is named of a webhook. A list that is named takes the place of the one before; one that is empty\n" +
		"(--product '') is none."
	var f webhookFlags
	f.add(cmd)
	cmd.Flags().StringVar(&f.url, "url", "", "its new `address`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var in api.WebhookPatch
		if cmd.Flags().Changed("url") {
			in.URL = &f.url
		}
		if cmd.Flags().Changed("type") {
			in.Types = &f.types
		}
		if cmd.Flags().Changed("product") {
			in.Products = &f.products
		}
		return c.patchWebhook(cmd.Context(), args[0], in)
	}
	return cmd
}

func webhookPause(c *cli) *cobra.Command {
	cmd := c.command("pause ID", "Send nothing to a webhook until it is enabled again", "listWebhooks", "patchWebhook")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		state := api.WebhookPatchStatePaused
		return c.patchWebhook(cmd.Context(), args[0], api.WebhookPatch{State: &state})
	}
	return cmd
}

func webhookEnable(c *cli) *cobra.Command {
	cmd := c.command("enable ID", "Send to a webhook again, beginning with what was not delivered", "listWebhooks", "patchWebhook")
	var skip bool
	cmd.Flags().BoolVar(&skip, "skip-backlog", false, "leave out what happened so far")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		state := api.WebhookPatchStateActive
		return c.patchWebhook(cmd.Context(), args[0], api.WebhookPatch{State: &state, SkipBacklog: &skip})
	}
	return cmd
}

// patchWebhook changes a webhook as it is now.
func (c *cli) patchWebhook(ctx context.Context, id string, in api.WebhookPatch) error {
	server, err := c.connect()
	if err != nil {
		return err
	}
	_, all, err := readInto[api.WebhookList](server.ListWebhooks(ctx))
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all.Items, func(h api.Webhook) bool { return h.ID == id })
	if at < 0 {
		return fail(exitNotFound, "there is no webhook %s in this workspace", cleanLine(id))
	}
	in.Version = all.Items[at].Version
	return answer(c, printWebhook)(server.PatchWebhook(ctx, id, in))
}

func webhookRotate(c *cli) *cobra.Command {
	cmd := c.command("rotate ID", "Make a new secret, and print it once", "rotateWebhook")
	hours := 24
	cmd.Flags().IntVar(&hours, "overlap", hours, "for so many `hours` the secret so far signs, too")
	cmd.RunE = callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
		return server.RotateWebhook(ctx, args[0], api.WebhookRotation{OverlapHours: &hours})
	}, printWebhookSecret)
	return cmd
}
