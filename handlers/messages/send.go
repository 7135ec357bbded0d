package messages

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// note is the type of what people write.
const note = "custom.note"

// send sends what a person wrote, or shows the refused form with all that was typed.
func (p *pages) send(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	table := newFields
	if typed.Get("reply") != "" {
		table = answerFields
	}
	f := table.Read(typed)
	m, err := table.Value(f)
	if err == nil {
		// Marshalling a map of texts cannot fail.
		m.Type = note
		m.Payload, _ = json.Marshal(map[string]string{"text": m.text})
		var sent []bus.Sent
		if sent, err = p.Bus.Publish(c.Request().Context(), who, m.Draft); err == nil {
			return web.SeeOther(c, links.Thread(sent[0].CorrelationID))
		}
	}
	if err := table.Refuse(&f, err, fault.StorageFull, fault.Forbidden, fault.TooMany, fault.IdempotencyKeyReused); err != nil {
		return err
	}
	// The page shows what the form is about, which is no part of the address that it was sent to.
	maps.Copy(c.QueryParams(), toView(f).Values())
	return p.page.Show(c, who, status.Of(fault.From(err).Code), func(d *pageData) { d.form = &f })
}

// toView is where a form stands.
func toView(f ui.Form) links.MessageView {
	if thread := f.Text("thread"); f.Text("reply") != "" && web.Fits(thread, bus.MaxThread) {
		return links.MessageView{Thread: thread}
	}
	return links.MessageView{New: true}
}

// message is what a person writes.
type message struct {
	bus.Draft

	text string
}

// The fields of a new message, and of an answer, whose addressee is one text such as
// agent:claude-1.
var (
	newFields = append(form.Table[message]{
		addressee("To"),
		form.WriteOnly("name", "Name", maxID, func(m *message, text string) string {
			m.To.Name = text
			return checkName(m)
		}).Note("of a person the e-mail address").Also(nameFields...),
		form.Line("job", "Job", jobs.MaxKey, func(m *message) *string { return &m.Job }).Note("may be left out").
			Check(func(m *message) string {
				if !web.Fits(m.Job, maxID) {
					return "There is no such job in this workspace."
				}
				return ""
			}),
		thread,
	}, words("Text")...)
	answerFields = append(form.Table[message]{
		addressee("Answer").Check(checkName).Also(nameFields...),
		form.WriteOnly("reply", "", 0, func(m *message, text string) string {
			m.InReplyTo, _ = ids.Parse(text)
			return ""
		}),
		thread,
	}, words("Your message")...)

	nameFields = []string{"to.agent", "to.factory", "to.person", "to.role"}

	thread = form.Line("thread", "Thread", bus.MaxThread, func(m *message) *string { return &m.CorrelationID }).Note("may be left out").
		Also("correlation_id").Check(func(m *message) string { return fits(m.CorrelationID, bus.MaxThread) })
)

// addressee returns the field of whom a message is for: the kind, in an answer with the name.
func addressee(label string) form.Field[message] {
	return form.WriteOnly("to", label, 0, func(m *message, text string) string {
		kind, name, _ := strings.Cut(text, ":")
		m.To = bus.Address{Kind: bus.Kind(kind), Name: strings.TrimSpace(name)}
		switch m.To.Kind {
		case bus.ToAgent, bus.ToRole, bus.ToFactory, bus.ToPerson, bus.ToAll:
			return ""
		}
		return "It must be one of the list."
	})
}

func checkName(m *message) string {
	switch {
	case m.To.Kind == bus.ToAll:
		m.To.Name = ""
	case m.To.Name == "":
		return "It must not be empty."
	}
	return fits(m.To.Name, maxID)
}

// words returns the text of a message, and the id that makes a form that is sent twice one message.
func words(label string) form.Table[message] {
	return form.Table[message]{
		form.Text("text", label, maxText, func(m *message) *string { return &m.text }).Also("payload").Check(func(m *message) string {
			if strings.TrimSpace(m.text) == "" {
				return "It must not be empty."
			}
			return fits(m.text, maxText)
		}),
		form.WriteOnly("id", "", 0, func(m *message, text string) string {
			m.ID, _ = ids.Parse(text) // a form without one sends a fresh message
			return ""
		}),
	}
}

func fits(text string, most int) string {
	if web.Fits(text, most) {
		return ""
	}
	return "It must have at most " + web.Counted(most) + " characters."
}

// seen takes a thread out of the reader's own inbox.
func (p *pages) seen(c echo.Context, who tenancy.Principal) error {
	typed, err := web.Form(c)
	if err != nil {
		return err
	}
	name := typed.Get("thread")
	seq, err := strconv.ParseInt(typed.Get("seq"), 10, 64)
	if err != nil || !web.Fits(name, bus.MaxThread) {
		return fault.New(fault.Malformed, "The place in the thread is not one that this server gave out.")
	}
	if _, err := p.Bus.Seen(c.Request().Context(), who, name, seq); err != nil {
		return err
	}
	if web.IsHX(c) {
		return c.NoContent(http.StatusNoContent)
	}
	return web.SeeOther(c, links.Thread(name))
}

// redrive lets a dead letter be handed out again.
func (p *pages) redrive(c echo.Context, who tenancy.Principal) error {
	id, err := parseMessageID(c)
	if err != nil {
		return err
	}
	if err := p.Bus.Redrive(c.Request().Context(), who, id, nil); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "It is handed out again", Text: "Its reader gets it as if for the first time."})
	return web.SeeOther(c, links.MessagesWith(links.MessageView{Tab: tabDead}))
}

// discard removes a dead letter.
func (p *pages) discard(c echo.Context, who tenancy.Principal) error {
	id, err := parseMessageID(c)
	if err != nil {
		return err
	}
	if err := p.Bus.Discard(c.Request().Context(), who, id, nil); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The dead letter was discarded", Text: "The message stays in its thread."})
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
