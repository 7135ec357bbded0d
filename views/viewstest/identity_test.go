package viewstest

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/login"
	"github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

func sampleIdentity() *settings.IdentityPart {
	return &settings.IdentityPart{Name: "Acme", Linked: true, Email: "ada@example.org", Since: ui.Day(Noon), LastUsed: ui.Ago(Noon, Noon),
		Unlink: &ui.Action{Verb: "unlink-identity", Label: "Unlink", URL: links.IdentityUnlink, Danger: true,
			Dialog: &ui.Dialog{Title: "Unlink Acme?", Text: ui.Text("You log in with your password then."), Keep: "Keep it", Confirm: "Unlink"}}}
}

// The pages of the identity provider keep the rules of every page, also where all
// that the provider says is hostile.
func TestIdentityPagesKeepTheRules(t *testing.T) {
	confirm := login.IdentityConfirm{Shell: Shell(layout.SectionSettings, "Link Acme"), Provider: "Acme", Email: "ada@example.org", Account: "ada@example.org",
		NeedsPassword: true, Errors: map[string]string{"current": "This is not your password."}, Error: "It was refused."}
	door := login.IdentityDoor{Title: "No account belongs to you yet", Text: "At Acme you are ada@example.org.", Steps: []string{"Log in.", "Ask."},
		Label: "To the log in", URL: links.Login, Again: "Try again", AgainURL: links.IdentityStart, RequestID: "req_8fk2"}
	account := settings.AccountPage{Shell: Shell(layout.SectionSettings, "Your account"), Identity: sampleIdentity()}
	only := account
	only.Identity = &settings.IdentityPart{Name: "Acme", Linked: true, Since: ui.Day(Noon)}
	unlinked := account
	unlinked.Identity = &settings.IdentityPart{Name: "Acme", LinkURL: links.IdentityLink}
	form := login.Login{Identity: &login.IdentityLogin{Name: "Acme", URL: links.IdentityLogin("/agents")}}
	join := login.InvitationPage{URL: links.Invitation("t"), Identity: &login.IdentityJoin{Name: "Acme", URL: links.IdentityJoin("t")}}
	for name, c := range map[string]templ.Component{
		"confirm": login.IdentityConfirmView(confirm), "hostile confirm": login.IdentityConfirmView(Poisoned(confirm)),
		"door": login.IdentityDoorView(door), "hostile door": login.IdentityDoorView(Poisoned(door)),
		"account": settings.AccountView(account), "the only way in": settings.AccountView(only), "not linked": settings.AccountView(unlinked),
		"hostile account": settings.AccountView(Poisoned(account)), "log in": login.LoginView(form), "hostile log in": login.LoginView(Poisoned(form)),
		"join": login.InvitationView(join), "hostile join": login.InvitationView(Poisoned(join)),
	} {
		t.Run(name, func(t *testing.T) {
			doc := Parsed(t, c)
			StrictPolicy(t, doc)
			OneOfEach(t, doc)
			References(t, doc)
			FormsWithoutScript(t, doc)
			if n := doc.Find("[data-pwned], img").Length(); n != 0 {
				t.Errorf("%d elements of the hostile text became markup", n)
			}
			doc.Find("p, span, a, b, li, h1, h2, h3, td, dd, title").Each(func(_ int, el *goquery.Selection) {
				if strings.ContainsAny(el.Text(), "\u202e\x1b") {
					t.Errorf("a control character is shown in <%s>", goquery.NodeName(el))
				}
			})
		})
	}
}

// The way to the provider is a link: the policy lets no form lead to another site.
func TestTheWayToTheProviderIsALink(t *testing.T) {
	for name, c := range map[string]templ.Component{
		"log in":  login.LoginView(login.Login{Identity: &login.IdentityLogin{Name: "Acme", URL: links.IdentityLogin("/agents")}}),
		"account": settings.AccountView(settings.AccountPage{Shell: Shell(layout.SectionSettings, "Your account"), Identity: &settings.IdentityPart{Name: "Acme", LinkURL: links.IdentityLink}}),
	} {
		doc := Parsed(t, c)
		if doc.Find(`a[href^="/login/oidc"], a[href^="/settings/account/identity/link"]`).Length() != 1 || doc.Find(`form[action*="oidc"], form[action$="/identity/link"]`).Length() != 0 {
			t.Errorf("%s: the way to the provider is no link", name)
		}
	}
	for name, c := range map[string]templ.Component{"log in": login.LoginView(login.Login{}), "account": settings.AccountView(settings.AccountPage{Shell: Shell(layout.SectionSettings, "Your account")})} {
		if Parsed(t, c).Find("#identity").Length() != 0 {
			t.Errorf("%s: a way to a provider that is not there", name)
		}
	}
}
