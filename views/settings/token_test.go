package settings_test

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
	"github.com/fleetboard/fleetboard/views/viewstest"
)

func sampleTokens() settings.TokensPage {
	shell := viewstest.Shell(layout.SectionSettings, "Tokens")
	one := settings.AccessToken{ID: "1", Name: "macs", Hint: "fb_enrolment_3fA9xz…", Limits: []string{"atlas", "os:mac"}, By: "Mara Ilić",
		Live: true, Agents: 2, RevokeURL: "/settings/tokens/1/revoke", Enrolment: true}
	own := one
	own.Enrolment, own.Limits, own.ID = false, nil, "2"
	return settings.TokensPage{Shell: shell, Made: &settings.MadeToken{Name: "macs", Token: "fb_enrolment_x_y", Enrolment: true},
		Own: []settings.AccessToken{own}, Enrolment: []settings.AccessToken{one}, CanEnrol: true}
}

// Names of tokens, limits and makers come from people: they stay text.
func TestHostileTokensStayText(t *testing.T) {
	form := viewstest.Poisoned(settings.TokenForm{Form: ui.Form{Errors: map[string]string{"name": "x"}}, Products: []ui.Option{{}}, Enrolment: true})
	shell := viewstest.Shell(layout.SectionSettings, "Tokens")
	for name, c := range map[string]templ.Component{
		"tokens": settings.TokensView(viewstest.Poisoned(sampleTokens())), "form": settings.TokenFormView(settings.TokenFormPage{Shell: shell, Form: form}),
		"connect":   settings.ConnectView(settings.ConnectPage{Shell: shell, Connect: viewstest.Poisoned(settings.Connect{CanEnrol: true})}),
		"connected": settings.ConnectView(settings.ConnectPage{Shell: shell, Connect: viewstest.Poisoned(settings.Connect{Made: &settings.MadeToken{}})}),
	} {
		t.Run(name, func(t *testing.T) {
			doc := viewstest.Parsed(t, c)
			viewstest.StrictPolicy(t, doc)
			if n := doc.Find("[data-pwned], img").Length(); n != 0 {
				t.Errorf("%d elements of the hostile text became markup", n)
			}
			doc.Find("p, span, a, h1, h2, h3, td, b, code").Each(func(_ int, el *goquery.Selection) {
				if strings.ContainsAny(el.Text(), "\u202e\x1b") {
					t.Errorf("a control character is shown in <%s>", goquery.NodeName(el))
				}
			})
		})
	}
}
