package settings

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/accounts/twofactor"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// fewCodes is when the page reminds of new recovery codes.
const fewCodes = 3

// accountPageData is what the page of the own account is made of.
type accountPageData struct {
	profile  people.Profile
	sessions []sessions.Session
	logins   []login.LogInNews
	identity *view.IdentityPart
	proof    *ui.Proof // required before the first password; nil for none
	revoke   bool      // the typed wish to revoke tokens with the password

	// What a refused form said: the typed name, errors by field, or one sentence
	// in a part.
	name    *string
	errors  map[string]string
	err, in string
}

func (a accountPageData) model(shell layout.Shell) view.AccountPage {
	m := view.AccountPage{
		Shell: shell, Name: a.profile.Name, Email: a.profile.Email, Identity: a.identity,
		Password: view.PasswordPart{Has: a.profile.HasPassword, Proof: a.proof, Revoke: a.revoke},
		Factor:   factorModel(a.profile),
		Errors:   a.errors, Error: a.err, In: a.in,
	}
	if a.name != nil {
		m.Name = *a.name
	}
	for _, one := range a.logins {
		id := one.ID.String()
		m.LogIns = append(m.LogIns, view.LogInNews{Name: browserName(one.UserAgent), Address: one.Address, At: ui.Ago(one.At, shell.Now),
			MineURL: links.OwnLogIn(id), NotMineURL: links.DisownLogIn(id)})
	}
	for _, one := range a.sessions {
		row := sessionModel(one, shell.Now)
		m.Sessions.List = append(m.Sessions.List, row)
		m.Sessions.Others = m.Sessions.Others || !row.This
	}
	return m
}

func factorModel(p people.Profile) view.FactorPart {
	if p.SecondFactorSince == nil {
		return view.FactorPart{}
	}
	m := view.FactorPart{On: true, Since: ui.Day(*p.SecondFactorSince)}
	switch p.CodesLeft {
	case 0:
		m.CodesLeft, m.CodesTone = "No recovery code is left.", ui.Bad
	case 1:
		m.CodesLeft, m.CodesTone = "One recovery code is left.", ui.Warn
	default:
		m.CodesLeft = fmt.Sprintf("%d recovery codes are left.", p.CodesLeft)
		if p.CodesLeft <= fewCodes {
			m.CodesTone = ui.Warn
		}
	}
	return m
}

func sessionModel(one sessions.Session, now time.Time) view.SessionRow {
	row := view.SessionRow{
		Name: browserName(one.UserAgent), Address: one.Address, This: one.This,
		Since: ui.Day(one.Since), LastSeen: ui.Ago(one.LastSeen, now),
	}
	if !one.This {
		row.EndURL = links.EndSession(one.ID.String())
	}
	return row
}

// wordOf is what a browser writes of itself, and what people call it.
type wordOf struct{ mark, name string }

// The order matters: every browser also names those it descends from.
var (
	browserWords = []wordOf{
		{"Edg/", "Edge"}, {"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"FxiOS/", "Firefox"}, {"Firefox/", "Firefox"},
		{"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	}
	systemWords = []wordOf{
		{"Android", "Android"}, {"iPhone", "iOS"}, {"iPad", "iOS"}, {"Windows", "Windows"}, {"Macintosh", "macOS"},
		{"Linux", "Linux"},
	}
)

// browserName says in words what a user agent seems to be. Nothing depends on it.
func browserName(userAgent string) string {
	browser, system := wordIn(userAgent, browserWords), wordIn(userAgent, systemWords)
	switch {
	case browser == "":
		return "A browser"
	case system == "":
		return browser
	default:
		return browser + " on " + system
	}
}

func wordIn(text string, words []wordOf) string {
	for _, w := range words {
		if strings.Contains(text, w.mark) {
			return w.name
		}
	}
	return ""
}

// factorPage returns the secret as people put it into their app.
func factorPage(shell layout.Shell, secret twofactor.SecondFactor, err string) view.FactorPage {
	return view.FactorPage{
		Shell: shell, Error: err, Secret: grouped(secret.Secret),
		QR: "data:image/png;base64," + base64.StdEncoding.EncodeToString(secret.PNG),
	}
}

// grouped writes a long secret in groups of four.
func grouped(secret string) string {
	var out strings.Builder
	for i, r := range secret {
		if i > 0 && i%4 == 0 {
			out.WriteByte(' ')
		}
		out.WriteRune(r)
	}
	return out.String()
}
