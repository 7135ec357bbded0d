package handlers

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/dispatch"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views/ui"
)

// Limits of what a merge is told, in characters.
const (
	maxCommit  = 100
	maxAddress = 2000
)

// jobAct does one of a person's verbs to a job.
func (s *Server) jobAct(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	v, ok := verbNamed(c.Param("action"))
	if !ok {
		return fault.New(fault.NotFound, "There is no such action.")
	}
	in, err := form(c)
	if err != nil {
		return err
	}
	action, err := actionIn(in, v)
	if err != nil {
		return err
	}
	before, err := s.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	after, err := s.Dispatch.Act(ctx, who, before.Key, action)
	switch {
	case outdated(err):
		now, err := s.Jobs.Get(ctx, who, before.Key)
		if err != nil {
			return err
		}
		return s.refused(c, who, now, notDone(now, v))
	case fault.Is(err, fault.Validation) && !isHX(c):
		return s.goBack(c, &ui.Toast{Tone: ui.Bad, Title: v.label + " was not done", Text: fieldText(err)})
	case err != nil:
		return sentence(err)
	}
	toast := askedToast(after)
	if toast == nil {
		toast = &ui.Toast{Tone: ui.OK, Title: after.Key + " " + v.done}
	}
	return s.changed(c, who, after, toast, kanban.ColumnOf(before.Status))
}

func actionIn(in url.Values, v verb) (dispatch.Action, error) {
	version, err := versionIn(in)
	if err != nil {
		return dispatch.Action{}, err
	}
	a := dispatch.Action{Verb: v.by, Reason: in.Get("reason"), Version: version,
		Commit: strings.TrimSpace(in.Get("commit")), URL: strings.TrimSpace(in.Get("url"))}
	if v.by == jobs.ByAnswer {
		a.Reason = in.Get("answer")
	}
	if !fits(a.Commit, maxCommit) {
		return a, fault.Invalid("commit", "At most %d characters of text fit.", maxCommit)
	}
	if !fits(a.URL, maxAddress) {
		return a, fault.Invalid("url", "At most %d characters of text fit.", maxAddress)
	}
	return a, nil
}

func fits(text string, most int) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0) && utf8.RuneCountInString(text) <= most
}

// notDone says why a verb no longer fits.
func notDone(job jobs.Job, v verb) ui.Toast {
	t := ui.Toast{Tone: ui.Warn, Title: job.Key + " has changed since you saw it", Text: "This is how it is now. Look again, then decide."}
	if !jobs.Can(job.Status, v.by) {
		t.Title = job.Key + " is " + strings.ToLower(ui.Status(job.Status).Word()) + " now"
		t.Text = "“" + v.label + "” is not possible then."
	}
	return t
}

// sentence puts what is wrong with the fields into a refusal's message, for
// answers that show no form.
func sentence(err error) error {
	if !fault.Is(err, fault.Validation) {
		return err
	}
	return fault.Wrap(err, fault.Validation, "%s", fieldText(err))
}

func fieldText(err error) string {
	f := fault.From(err)
	for field, text := range f.Fields {
		return strings.ToUpper(field[:1]) + field[1:] + ": " + text
	}
	return f.Message
}
