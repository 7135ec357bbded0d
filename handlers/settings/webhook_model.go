package settings

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/hooks/address"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// webhookInput is what the form has of a webhook.
type webhookInput struct {
	url              string
	types, products  []string
	formKey, version string
}

// maxTypesText bounds the types as one text.
const maxTypesText = 4000

var webhookFields = form.Table[webhookInput]{
	form.Line("url", "Address", webhooks.MaxURL, func(in *webhookInput) *string { return &in.url }),
	form.Commas("types", "Events", maxTypesText, func(in *webhookInput) *[]string { return &in.types }).Note("empty is all"),
	form.List("products", "Products", web.Distinct, func(in *webhookInput) []string { return in.products },
		func(in *webhookInput, names []string) { in.products = names }),
	form.Line("form_key", "", 0, func(in *webhookInput) *string { return &in.formKey }),
	form.Line("version", "", 0, func(in *webhookInput) *string { return &in.version }),
}

func readWebhookInput(w webhooks.Webhook) webhookInput {
	return webhookInput{url: w.URL, types: w.Types, products: w.Products, version: strconv.Itoa(w.Version)}
}

func webhookFormModel(f ui.Form, products []jobs.Product, of *webhooks.Webhook) view.WebhookFormPage {
	m := view.WebhookFormPage{Form: f, Heading: "New webhook", Action: links.Webhooks, BackURL: links.Webhooks, Submit: "Make the webhook",
		FormKey: f.Text("form_key"), Version: f.Text("version")}
	if of != nil {
		id := of.ID.String()
		m.Heading, m.Action, m.BackURL, m.Submit = "Edit", links.Webhook(id), links.Webhook(id), "Save"
	}
	chosen := slices.Clone(f.Typed["products"])
	for _, p := range products {
		m.Products = append(m.Products, ui.Option{Value: p.Name, Label: p.Name, Selected: slices.Contains(chosen, p.Name)})
		chosen = slices.DeleteFunc(chosen, func(name string) bool { return name == p.Name })
	}
	for _, name := range chosen { // a product that is gone
		m.Products = append(m.Products, ui.Option{Value: name, Label: name, Selected: true})
	}
	return m
}

func webhooksModel(list []webhooks.Webhook, now time.Time) view.WebhooksPage {
	var m view.WebhooksPage
	for _, w := range list {
		m.List = append(m.List, webhookRow(w, now))
	}
	if len(list) >= webhooks.MaxWebhooks {
		m.Full = fmt.Sprintf("There are %d webhooks, as many as a workspace has. Delete one to make another.", len(list))
	}
	return m
}

// webhookStates are the words, the pill and the icon of each state.
var webhookStates = map[webhooks.State][3]string{
	webhooks.Active: {"Active", "st-completed", "circle-check"}, webhooks.Paused: {"Paused", "st-paused", "circle-pause"},
	webhooks.Disabled: {"Disabled", "st-failed", "circle-x"},
}

func webhookRow(w webhooks.Webhook, now time.Time) view.Webhook {
	words := webhookStates[w.State]
	m := view.Webhook{ID: w.ID.String(), URL: w.URL, Address: address.Shown(w.URL), PageURL: links.Webhook(w.ID.String()), Types: w.Types,
		Products: w.Products, State: words[0], Class: words[1], Icon: words[2], Why: webhookWhy(w, now)}
	if w.Pending > 0 {
		m.Pending = ui.Count(w.Pending) + " to be sent"
	}
	if w.DeliveredAt != nil {
		m.Delivered = ui.Ago(*w.DeliveredAt, now)
	}
	return m
}

// webhookWhy says what is wrong with a webhook.
func webhookWhy(w webhooks.Webhook, now time.Time) string {
	switch {
	case w.DisabledReason == webhooks.Gone:
		return "The receiver answered 410: it wants nothing any more."
	case w.DisabledReason == webhooks.Failing:
		return "Its receiver took nothing, whatever was tried for more than a day. Mend it, then enable the webhook."
	case w.State == webhooks.Active && w.FailingSince != nil:
		return "Nothing was delivered for " + ui.Duration(now.Sub(*w.FailingSince)) + ". It is tried again."
	}
	return ""
}

func webhookModel(w webhooks.Webhook, list []webhooks.Delivery, status webhooks.DeliveryState, now time.Time) view.WebhookPage {
	id := w.ID.String()
	m := view.WebhookPage{Webhook: webhookRow(w, now), EditURL: links.WebhookEdit(id), TestURL: links.WebhookAction(id, "test"),
		RotateURL: links.WebhookAction(id, "rotate"), DeleteURL: links.WebhookAction(id, "delete"), FormKey: ids.New().String(),
		Made: ui.Day(w.CreatedAt), By: w.CreatedBy,
		Empty: ui.Empty{Title: "There is no delivery",
			Text: "The next event of its types comes here. A test shows at once whether the receiver answers."}}
	if w.State == webhooks.Active {
		m.PauseURL = links.WebhookAction(id, "pause")
	} else {
		m.EnableURL = links.WebhookAction(id, "enable")
	}
	if w.RotatesUntil != nil {
		m.Rotates = ui.Day(*w.RotatesUntil)
	}
	if status != "" {
		m.Empty = ui.Empty{Title: "There is no delivery of this kind"}
	}
	m.Tabs = []ui.Tab{{Text: "All", URL: links.Deliveries(id, "", ""), Current: status == ""}}
	for _, s := range webhooks.DeliveryStates {
		m.Tabs = append(m.Tabs, ui.Tab{Text: deliveryStates[s][0], URL: links.Deliveries(id, string(s), ""), Current: s == status})
	}
	for _, d := range list {
		m.Deliveries = append(m.Deliveries, deliveryModel(d, now))
	}
	return m
}

// deliveryStates are the words and the pill of each state.
var deliveryStates = map[webhooks.DeliveryState][2]string{
	webhooks.Pending: {"Pending", "st-waiting"}, webhooks.Delivered: {"Delivered", "st-completed"},
	webhooks.Failed: {"Failed", "st-failed"}, webhooks.Skipped: {"Left out", "st-archived"},
}

func deliveryModel(d webhooks.Delivery, now time.Time) view.Delivery {
	words := deliveryStates[d.State]
	m := view.Delivery{ID: d.ID.String(), Type: d.Type, Job: d.Job, State: words[0], Class: words[1], Error: d.Error, Response: d.Answer,
		Body: d.Body, Tries: ui.Count(d.Tries), When: ui.Ago(d.CreatedAt, now),
		AgainURL: links.Redeliver(d.WebhookID.String(), d.ID.String())}
	if d.Job != "" {
		m.JobURL = links.Job(d.Job)
	}
	switch {
	case d.TriedAt == nil:
		m.Answer = "Not tried yet"
	case d.Status == 0:
		m.Answer = "None."
	default:
		m.Answer = fmt.Sprintf("%d in %d ms", d.Status, d.DurationMS)
	}
	if d.TriedAt != nil {
		m.When = ui.Ago(*d.TriedAt, now)
	}
	if d.NextAt != nil && d.NextAt.After(now) {
		m.Next = ui.In(*d.NextAt, now)
	}
	return m
}
