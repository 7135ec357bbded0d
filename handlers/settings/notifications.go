package settings

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/static"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// notificationPages are what a person is told of, where and when.
type notificationPages struct{ *Pages }

func (p *notificationPages) routes() []web.Route {
	return []web.Route{
		web.Get(links.Notifications, tenancy.ReadBoard, p.notificationsShow),
		web.Post(links.Notifications, tenancy.ReadBoard, p.notificationsSave),
		web.Post(links.TestNotifications, tenancy.ReadBoard, p.notificationsTest),
		web.Post(links.PushSubscriptions, tenancy.ReadBoard, p.browserAdd),
		web.Post(links.ForgetBrowser, tenancy.ReadBoard, p.browserForget),
		web.Post(links.PushSubscriptions+"/:id/remove", tenancy.ReadBoard, p.browserRemove),
		web.Get(links.PushWorker, tenancy.Public, p.pushWorker),
	}
}

// notificationsShow answers with the form.
func (p *notificationPages) notificationsShow(c echo.Context, who tenancy.Principal) error {
	all, err := p.Notify.Overview(c.Request().Context(), who)
	if err != nil {
		return err
	}
	return p.notificationsPage(c, who, http.StatusOK, all, notificationFields().Fill(all.Settings))
}

// notificationsSave saves the form, or shows it with what was refused.
func (p *notificationPages) notificationsSave(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	fields := notificationFields()
	f := fields.Read(typed)
	in, err := fields.Value(f)
	if err == nil {
		_, err = p.Notify.Save(ctx, who, changeAll(in))
	}
	if err == nil {
		p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "Notifications were saved"})
		return web.SeeOther(c, links.Notifications)
	}
	if err := fields.Refuse(&f, err); err != nil {
		return err
	}
	all, err := p.Notify.Overview(ctx, who)
	if err != nil {
		return err
	}
	return p.notificationsPage(c, who, http.StatusUnprocessableEntity, all, f)
}

func (p *notificationPages) notificationsPage(c echo.Context, who tenancy.Principal, status int, all notifications.Overview,
	f ui.Form,
) error {
	shell, err := p.shell(c, who, "Notifications", links.Notifications)
	if err != nil {
		return err
	}
	m := notificationsModel(all, who, f)
	m.Shell = shell
	return web.RenderSecret(c, status, view.NotificationsView(m))
}

// notificationsTest sends a message on every channel, and says how each did.
func (p *notificationPages) notificationsTest(c echo.Context, who tenancy.Principal) error {
	list, err := p.Notify.Test(c.Request().Context(), who)
	if fault.Is(err, fault.Validation) {
		p.SetFlash(c, ui.Toast{Tone: ui.Warn, Title: "No test message was sent", Text: web.FieldText(err)})
		return web.SeeOther(c, links.Notifications)
	}
	if err != nil {
		return err
	}
	p.SetFlash(c, testToast(list))
	return web.SeeOther(c, links.Notifications)
}

// browserAdd has a browser show the person's messages.
func (p *notificationPages) browserAdd(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	_, err = p.Notify.Subscribe(c.Request().Context(), who, notifications.Subscription{Endpoint: in.Get("endpoint"),
		Keys:    notifications.SubscriptionKeys{P256dh: in.Get("p256dh"), Auth: in.Get("auth")},
		Browser: browserName(c.Request().UserAgent())})
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// browserForget forgets a browser that was switched off there.
func (p *notificationPages) browserForget(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	err = p.Notify.UnsubscribeEndpoint(c.Request().Context(), who, in.Get("endpoint"))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// browserRemove forgets a browser of the list.
func (p *notificationPages) browserRemove(c echo.Context, who tenancy.Principal) error {
	id, ok := ids.Parse(c.Param("id"))
	if !ok {
		return fault.New(fault.NotFound, "There is no such browser.")
	}
	if err := p.Notify.Unsubscribe(c.Request().Context(), who, id); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The browser was forgotten", Text: "It shows no more messages of yours."})
	return web.SeeOther(c, links.Notifications)
}

// pushWorker answers with the script that shows messages. It stands at the root, for a worker reaches
// no further than its own folder, and is looked up anew each time.
func (p *notificationPages) pushWorker(c echo.Context, _ tenancy.Principal) error {
	h := c.Response().Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", "default-src 'none'")
	return c.Blob(http.StatusOK, "text/javascript; charset=utf-8", static.PushWorker())
}
