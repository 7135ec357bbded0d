package settings

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/address"
	"github.com/fleetboard/fleetboard/internal/hooks/webhooks"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// webhookCreate makes a webhook and answers with its secret, once: a redirect would lose it. The same
// form sent again, as a reload does, makes none.
func (p *webhookPages) webhookCreate(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := webhookFields.Read(typed)
	in, err := webhookFields.Value(f)
	once := p.formOnce("webhook", in.formKey, form.Digest(f))
	var w webhooks.Webhook
	var secret webhooks.Secret
	if err == nil {
		w, secret, err = p.Webhooks.Create(c.Request().Context(), who,
			webhooks.New{URL: in.url, Types: in.types, Products: in.products}, once)
	}
	if err != nil {
		if err := webhookFields.Refuse(&f, err, fault.InUse); err != nil {
			return err
		}
		return p.webhookForm(c, who, http.StatusUnprocessableEntity, f, nil)
	}
	if once.Replayed() {
		return p.shownBefore(c, w.ID)
	}
	return p.webhookPage(c, who, w, &view.WebhookSecret{Title: "Copy the secret now", Secret: secret.Reveal(),
		Text: "It is shown this once. The receiver verifies with it that a message is from here and new."})
}

// formOnce names a form, so that it has its effect once; nil for one without a key.
func (p *webhookPages) formOnce(what, key string, digest []byte) *idempotency.Key {
	if key == "" {
		return nil
	}
	return p.Jobs.Key("form:"+what+":"+key, digest)
}

// shownBefore answers a form that was sent again.
func (p *webhookPages) shownBefore(c echo.Context, id ids.ID) error {
	p.SetFlash(c, ui.Toast{Tone: ui.Warn, Title: "This form has made its secret already",
		Text: "It was shown then and cannot be shown again. If it was not copied, make a new one."})
	return web.SeeOther(c, links.Webhook(id.String()))
}

// webhookSave changes a webhook, or shows the refused form with all that was typed.
func (p *webhookPages) webhookSave(c echo.Context, who tenancy.Principal) error {
	w, err := p.webhook(c, who)
	if err != nil {
		return err
	}
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := webhookFields.Read(typed)
	in, err := webhookFields.Value(f)
	if err == nil {
		version, _ := strconv.Atoi(in.version) // what is no number is of no version
		_, err = p.Webhooks.Edit(c.Request().Context(), who, w.ID,
			webhooks.Change{URL: &in.url, Types: &in.types, Products: &in.products, Version: version})
	}
	if err != nil {
		if err := webhookFields.Refuse(&f, err, fault.VersionConflict); err != nil {
			return err
		}
		return p.webhookForm(c, who, http.StatusUnprocessableEntity, f, &w)
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The webhook was saved", Text: "It holds from the next event on."})
	return web.SeeOther(c, links.Webhook(w.ID.String()))
}

// webhookPause stops sending.
func (p *webhookPages) webhookPause(c echo.Context, who tenancy.Principal) error {
	return p.setWebhookState(c, who, webhooks.Paused, ui.Toast{Tone: ui.OK, Title: "The webhook is paused",
		Text: "What happens meanwhile is sent when it is enabled again."})
}

// webhookEnable sends again; with skip, without what happened so far.
func (p *webhookPages) webhookEnable(c echo.Context, who tenancy.Principal) error {
	return p.setWebhookState(c, who, webhooks.Active, ui.Toast{Tone: ui.OK, Title: "The webhook is enabled"})
}

func (p *webhookPages) setWebhookState(c echo.Context, who tenancy.Principal, state webhooks.State, done ui.Toast) error {
	w, err := p.webhook(c, who)
	if err != nil {
		return err
	}
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	_, err = p.Webhooks.Edit(c.Request().Context(), who, w.ID, webhooks.Change{State: &state, Version: w.Version,
		SkipBacklog: state == webhooks.Active && typed.Get("skip") == "1"})
	if fault.Is(err, fault.Validation) {
		p.SetFlash(c, ui.Toast{Tone: ui.Bad, Title: "The webhook was not changed", Text: web.Sentence(err).Error()})
		return web.SeeOther(c, links.Webhook(w.ID.String()))
	}
	if err != nil {
		return err
	}
	p.SetFlash(c, done)
	return web.SeeOther(c, links.Webhook(w.ID.String()))
}

// webhookRotate makes a new secret and answers with it, once.
func (p *webhookPages) webhookRotate(c echo.Context, who tenancy.Principal) error {
	w, err := p.webhook(c, who)
	if err != nil {
		return err
	}
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	hours, err := strconv.Atoi(typed.Get("overlap"))
	if err != nil {
		hours = webhooks.DefaultOverlap
	}
	once := p.formOnce("webhook-secret", typed.Get("form_key"), []byte(w.ID.String()+" "+strconv.Itoa(hours)))
	w, secret, err := p.Webhooks.Rotate(c.Request().Context(), who, w.ID, hours, once)
	if fault.Is(err, fault.Validation) {
		return web.Sentence(err)
	}
	if err != nil {
		return err
	}
	if once.Replayed() {
		return p.shownBefore(c, w.ID)
	}
	text := "It is shown this once. The secret so far does not sign any more."
	if w.RotatesUntil != nil {
		text = "It is shown this once. Until the time below the secret so far signs, too: give the receiver the new one before."
	}
	return p.webhookPage(c, who, w, &view.WebhookSecret{Title: "Copy the new secret now", Text: text, Secret: secret.Reveal()})
}

// webhookTest has a message sent.
func (p *webhookPages) webhookTest(c echo.Context, who tenancy.Principal) error {
	w, err := p.webhook(c, who)
	if err != nil {
		return err
	}
	if _, err := p.Webhooks.Test(c.Request().Context(), who, w.ID, nil); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "A test is on its way", Text: "What came of it stands below within seconds."})
	return web.SeeOther(c, links.Webhook(w.ID.String()))
}

// webhookDelete takes a webhook away.
func (p *webhookPages) webhookDelete(c echo.Context, who tenancy.Principal) error {
	w, err := p.webhook(c, who)
	if err != nil {
		return err
	}
	if err := p.Webhooks.Delete(c.Request().Context(), who, w.ID); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The webhook was deleted", Text: address.Shown(w.URL) + " gets no events any more."})
	return web.SeeOther(c, links.Webhooks)
}

// webhookRedeliver has a delivery sent once more.
func (p *webhookPages) webhookRedeliver(c echo.Context, who tenancy.Principal) error {
	w, err := p.webhook(c, who)
	if err != nil {
		return err
	}
	id, ok := ids.Parse(c.Param("delivery"))
	if !ok {
		return fault.New(fault.NotFound, "There is no such delivery in this workspace.")
	}
	if _, err := p.Webhooks.Redeliver(c.Request().Context(), who, id, nil); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "It is sent once more", Text: "With the same id, so that the receiver knows it again."})
	return web.SeeOther(c, web.BackTo(c, links.Webhook(w.ID.String())))
}
