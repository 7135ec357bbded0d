package settings

import (
	"strconv"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// maxShownInputs and maxShownInput bound what a page shows of a job's inputs.

// secretPageData is what the page of the encryption keys is made of.
type secretPageData struct {
	keys   []secrets.Key // the newest first
	canOwn bool
}

func (s secretPageData) model() view.Secrets {
	m := view.Secrets{CanRenew: s.canOwn && len(s.keys) > 0, Renew: renewAction()}
	moved, left, more := 0, 0, false
	for _, k := range s.keys {
		m.Keys = append(m.Keys, keyModel(k))
		m.Locked = m.Locked || k.Locked
		if !k.Writes && k.RetiredAt == nil {
			moved, left, more = moved+k.Moved, left+k.Values, more || k.More
			m.Running = true
		}
	}
	if !m.Running {
		return m
	}
	// One that does not end has met values that were damaged; it keeps nobody from
	// a new key.
	m.CanRenew = m.CanRenew && !s.keys[0].Fresh
	m.Percent = 100 * moved / max(moved+left, 1)
	m.Progress = web.Counted(moved) + " of " + web.Counted(moved+left) + " values are encrypted with the new key."
	if more {
		m.Percent, m.Progress = 0, web.Counted(moved)+" values are encrypted with the new key; more than "+web.Counted(left)+" are left."
	}
	return m
}

func keyModel(k secrets.Key) view.SecretKey {
	m := view.SecretKey{Name: "Key " + strconv.Itoa(k.Generation), Made: ui.Day(k.MadeAt), Values: web.Counted(k.Values), Locked: k.Locked}
	if k.More {
		m.Values += " or more"
	}
	switch {
	case k.RetiredAt != nil:
		m.State, m.Until = "Retired", ui.Day(*k.RetiredAt)
	case k.Writes:
		m.State, m.Writes = "Encrypts what is new", true
	default:
		m.State = "Is being replaced"
	}
	return m
}

// renewAction asks for confirmation before a new key is made.
func renewAction() ui.Action {
	return ui.Action{Verb: "renew", Label: "Make a new key", Icon: "key-round", URL: links.RenewSecrets,
		Dialog: &ui.Dialog{Title: "Make a new key?", Confirm: "Make a new key", Keep: "Keep the present one",
			Text: ui.Text("New secrets are encrypted with it at once. " +
				"The ones that are kept are encrypted anew in the background; agents read them all the time.")}}
}
