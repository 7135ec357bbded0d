package settings

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// shownDeliveries is how many deliveries a page has.
const shownDeliveries = 50

// webhooksShow lists the webhooks.
func (p *webhookPages) webhooksShow(c echo.Context, who tenancy.Principal) error {
	list, err := p.Webhooks.List(c.Request().Context(), who)
	if err != nil {
		return err
	}
	m := webhooksModel(list, time.Now())
	if m.Shell, err = p.shell(c, who, "Webhooks", links.Webhooks); err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.WebhooksView(m))
}

// webhookShow answers with a webhook and its deliveries.
func (p *webhookPages) webhookShow(c echo.Context, who tenancy.Principal) error {
	w, err := p.webhook(c, who)
	if err != nil {
		return err
	}
	return p.webhookPage(c, who, w, nil)
}

// webhookPage answers with a webhook, with a secret that was just made on top. Of its query, what makes
// no sense narrows nothing.
func (p *webhookPages) webhookPage(c echo.Context, who tenancy.Principal, w webhooks.Webhook, made *view.WebhookSecret) error {
	status := webhooks.DeliveryState("")
	for _, s := range webhooks.DeliveryStates {
		if c.QueryParam("status") == string(s) {
			status = s
		}
	}
	before, _ := ids.Parse(c.QueryParam("cursor")) // else the newest
	list, next, err := p.Webhooks.Deliveries(c.Request().Context(), who, w.ID, status, before, shownDeliveries)
	if err != nil {
		return err
	}
	m := webhookModel(w, list, status, time.Now())
	m.Secret = made
	if next != ids.Nil {
		m.OlderURL = links.Deliveries(w.ID.String(), string(status), next.String())
	}
	if m.Shell, err = p.shell(c, who, "Webhook", links.Webhook(w.ID.String())); err != nil {
		return err
	}
	if made == nil {
		return web.Render(c, http.StatusOK, view.WebhookView(m))
	}
	return web.RenderSecret(c, http.StatusOK, view.WebhookView(m))
}

// webhook reads the webhook that an address names. Faults: NotFound; Forbidden.
func (p *webhookPages) webhook(c echo.Context, who tenancy.Principal) (webhooks.Webhook, error) {
	id, ok := ids.Parse(c.Param("webhook"))
	if !ok {
		return webhooks.Webhook{}, fault.New(fault.NotFound, "There is no such webhook in this workspace.")
	}
	return p.Webhooks.Get(c.Request().Context(), who, id)
}

// webhookNew answers with the empty form.
func (p *webhookPages) webhookNew(c echo.Context, who tenancy.Principal) error {
	return p.webhookForm(c, who, http.StatusOK, webhookFields.Fill(webhookInput{formKey: ids.New().String()}), nil)
}

// webhookEdit answers with the form of a webhook.
func (p *webhookPages) webhookEdit(c echo.Context, who tenancy.Principal) error {
	w, err := p.webhook(c, who)
	if err != nil {
		return err
	}
	return p.webhookForm(c, who, http.StatusOK, webhookFields.Fill(readWebhookInput(w)), &w)
}

// webhookForm answers with the form of a webhook, or of a new one.
func (p *webhookPages) webhookForm(c echo.Context, who tenancy.Principal, status int, f ui.Form, of *webhooks.Webhook) error {
	products, err := p.Jobs.Products(c.Request().Context(), who)
	if err != nil {
		return err
	}
	m := webhookFormModel(f, products, of)
	if m.Shell, err = p.shell(c, who, m.Heading, m.BackURL); err != nil {
		return err
	}
	return web.Render(c, status, view.WebhookFormView(m))
}
