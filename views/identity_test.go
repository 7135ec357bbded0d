package views

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"fleetboard/views/links"
	"fleetboard/views/ui"
)

func sampleIdentity() *IdentityPart {
	return &IdentityPart{Name: "Acme", Linked: true, Email: "ada@example.org", Since: ui.Day(noon), LastUsed: ui.Ago(noon, noon),
		Unlink: &Action{Verb: "unlink-identity", Label: "Unlink", URL: links.IdentityUnlink, Danger: true,
			Dialog: &ActionDialog{Title: "Unlink Acme?", Text: ui.Text("You log in with your password then."), Keep: "Keep it", Confirm: "Unlink"}}}
}

// The pages of the identity provider keep the rules of every page, also where all
// that the provider says is hostile.
func TestIdentityPagesKeepTheRules(t *testing.T) {
	confirm := IdentityConfirm{Shell: sampleShell(SectionSettings, "Link Acme"), Provider: "Acme", Email: "ada@example.org", Account: "ada@example.org",
		NeedsPassword: true, Errors: map[string]string{"current": "This is not your password."}, Error: "It was refused."}
	door := IdentityDoor{Title: "No account belongs to you yet", Text: "At Acme you are ada@example.org.", Steps: []string{"Log in.", "Ask."},
		Label: "To the log in", URL: links.Login, Again: "Try again", AgainURL: links.IdentityStart, RequestID: "req_8fk2"}
	account := AccountPage{Shell: sampleShell(SectionSettings, "Your account"), Identity: sampleIdentity()}
	only := account
	only.Identity = &IdentityPart{Name: "Acme", Linked: true, Since: ui.Day(noon)}
	unlinked := account
	unlinked.Identity = &IdentityPart{Name: "Acme", LinkURL: links.IdentityLink}
	login := Login{Identity: &IdentityLogin{Name: "Acme", URL: links.IdentityLogin("/agents")}}
	join := InvitationPage{URL: links.Invitation("t"), Identity: &IdentityJoin{Name: "Acme", URL: links.IdentityJoin("t")}}
	for name, c := range map[string]templ.Component{
		"confirm": IdentityConfirmView(confirm), "hostile confirm": IdentityConfirmView(poisoned(confirm)),
		"door": IdentityDoorView(door), "hostile door": IdentityDoorView(poisoned(door)),
		"account": AccountView(account), "the only way in": AccountView(only), "not linked": AccountView(unlinked),
		"hostile account": AccountView(poisoned(account)), "log in": LoginView(login), "hostile log in": LoginView(poisoned(login)),
		"join": InvitationView(join), "hostile join": InvitationView(poisoned(join)),
	} {
		t.Run(name, func(t *testing.T) {
			doc := parsed(t, c)
			strictPolicy(t, doc)
			oneOfEach(t, doc)
			references(t, doc)
			formsWithoutScript(t, doc)
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
		"log in":  LoginView(Login{Identity: &IdentityLogin{Name: "Acme", URL: links.IdentityLogin("/agents")}}),
		"account": AccountView(AccountPage{Shell: sampleShell(SectionSettings, "Your account"), Identity: &IdentityPart{Name: "Acme", LinkURL: links.IdentityLink}}),
	} {
		doc := parsed(t, c)
		if doc.Find(`a[href^="/login/oidc"], a[href^="/settings/account/identity/link"]`).Length() != 1 || doc.Find(`form[action*="oidc"], form[action$="/identity/link"]`).Length() != 0 {
			t.Errorf("%s: the way to the provider is no link", name)
		}
	}
	for name, c := range map[string]templ.Component{"log in": LoginView(Login{}), "account": AccountView(AccountPage{Shell: sampleShell(SectionSettings, "Your account")})} {
		if parsed(t, c).Find("#identity").Length() != 0 {
			t.Errorf("%s: a way to a provider that is not there", name)
		}
	}
}
