package messages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/messages"
	"github.com/fleetboard/fleetboard/views/ui"
)

// note is the type of what people write.
const note = "custom.note"

// send sends what a person wrote, or shows the refused form with all that was typed.
func (p *Pages) send(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	f := view.Form{ID: typed.Get("id"), Thread: strings.TrimSpace(typed.Get("thread")), Reply: typed.Get("reply"), To: typed.Get("to"),
		Name: typed.Get("name"), Job: strings.TrimSpace(typed.Get("job")), Text: strings.ReplaceAll(typed.Get("text"), "\r\n", "\n")}
	draft, wrong := parseDraft(f)
	if len(wrong) == 0 {
		sent, err := p.Bus.Publish(c.Request().Context(), who, draft)
		if err == nil {
			return web.SeeOther(c, links.Thread(sent[0].CorrelationID))
		}
		if f.Errors, f.Error = refusedFields(err, f); len(f.Errors) == 0 && f.Error == "" {
			return err
		}
		return p.page(c, who, status.Of(fault.From(err).Code), toView(f), &f)
	}
	f.Errors = wrong
	return p.page(c, who, http.StatusUnprocessableEntity, toView(f), &f)
}

// toView is where a form stands.
func toView(f view.Form) links.MessageView {
	if f.Reply != "" && web.Fits(f.Thread, bus.MaxThread) {
		return links.MessageView{Thread: f.Thread}
	}
	return links.MessageView{New: true}
}

// parseDraft is the message of a form, and what is wrong with its fields.
func parseDraft(f view.Form) (bus.Draft, map[string]string) {
	wrong := map[string]string{}
	to, ok := parseAddress(f.To, f.Name)
	switch {
	case !ok:
		wrong["to"] = "It must be one of the list."
	case to.Name == "" && to.Kind != bus.ToAll:
		wrong["name"] = "It must not be empty."
	case !web.Fits(to.Name, maxID):
		wrong["name"] = "It must have at most " + strconv.Itoa(maxID) + " characters."
	}
	switch {
	case strings.TrimSpace(f.Text) == "":
		wrong["text"] = "It must not be empty."
	case !web.Fits(f.Text, maxText):
		wrong["text"] = "It must have at most " + web.Counted(maxText) + " characters."
	}
	if !web.Fits(f.Thread, bus.MaxThread) {
		wrong["thread"] = "It must have at most " + strconv.Itoa(bus.MaxThread) + " characters."
	}
	if !web.Fits(f.Job, maxID) {
		wrong["job"] = "There is no such job in this workspace."
	}
	id, _ := ids.Parse(f.ID) // a form without one sends a fresh message
	reply, _ := ids.Parse(f.Reply)
	payload, err := json.Marshal(map[string]string{"text": f.Text})
	if err != nil {
		wrong["text"] = "It must be text."
	}
	return bus.Draft{ID: id, Type: note, To: to, CorrelationID: f.Thread, InReplyTo: reply, Job: f.Job, Payload: payload}, wrong
}

// refusedFields says at the fields of a form why it was refused, and above it what belongs to none
// of them; nothing for what is not the sender's to mend.
func refusedFields(err error, f view.Form) (fields map[string]string, above string) {
	fields = map[string]string{}
	switch r := fault.From(err); r.Code {
	case fault.Validation, fault.StorageFull:
		for name, text := range r.Fields {
			fields[formField(name, f)] = text
		}
	case fault.Forbidden, fault.TooMany, fault.IdempotencyKeyReused:
		above = r.Message
	}
	return fields, above
}

// formField is the field of a form that holds what the bus calls by a name.
func formField(name string, f view.Form) string {
	switch {
	case strings.HasPrefix(name, "to.") && f.Reply != "":
		return "to"
	case strings.HasPrefix(name, "to."):
		return "name"
	case name == "payload":
		return "text"
	case name == "correlation_id":
		return "thread"
	}
	return name
}

// seen takes a thread out of the reader's own inbox.
func (p *Pages) seen(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	name := typed.Get("thread")
	seq, err := strconv.ParseInt(typed.Get("seq"), 10, 64)
	if err != nil || !web.Fits(name, bus.MaxThread) {
		return fault.New(fault.Malformed, "The place in the thread is not one that this server gave out.")
	}
	if _, err := p.Threads.Seen(c.Request().Context(), who, name, seq); err != nil {
		return err
	}
	if web.IsHX(c) {
		return c.NoContent(http.StatusNoContent)
	}
	return web.SeeOther(c, links.Thread(name))
}

// redrive lets a dead letter be handed out again.
func (p *Pages) redrive(c echo.Context, who tenancy.Principal) error {
	id, err := parseMessageID(c)
	if err != nil {
		return err
	}
	if err := p.Dead.Redrive(c.Request().Context(), who, id, nil); err != nil {
		return err
	}
	p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "It is handed out again", Text: "Its reader gets it as if for the first time."})
	return web.SeeOther(c, links.MessagesWith(links.MessageView{Tab: tabDead}))
}

// discard removes a dead letter.
func (p *Pages) discard(c echo.Context, who tenancy.Principal) error {
	id, err := parseMessageID(c)
	if err != nil {
		return err
	}
	if err := p.Dead.Discard(c.Request().Context(), who, id, nil); err != nil {
		return err
	}
	p.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The dead letter was discarded", Text: "The message stays in its thread."})
	return web.SeeOther(c, links.MessagesWith(links.MessageView{Tab: tabDead}))
}

func parseMessageID(c echo.Context) (ids.ID, error) {
	text, err := url.PathUnescape(c.Param("message"))
	id, ok := ids.Parse(text)
	if err != nil || !ok {
		return id, fault.New(fault.NotFound, "There is no such message in this workspace.")
	}
	return id, nil
}
