package views

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"fleetboard/views/ui"
)

func sampleTokens() TokensPage {
	shell := sampleShell(SectionSettings, "Tokens")
	one := AccessToken{ID: "1", Name: "macs", Hint: "fb_enrolment_3fA9xz…", Limits: []string{"atlas", "os:mac"}, By: "Mara Ilić",
		Live: true, Agents: 2, RevokeURL: "/settings/tokens/1/revoke", Enrolment: true}
	own := one
	own.Enrolment, own.Limits, own.ID = false, nil, "2"
	return TokensPage{Shell: shell, Made: &MadeToken{Name: "macs", Token: "fb_enrolment_x_y", Enrolment: true},
		Own: []AccessToken{own}, Enrolment: []AccessToken{one}, CanEnrol: true}
}

// Names of tokens, limits and makers come from people: they stay text.
func TestHostileTokensStayText(t *testing.T) {
	form := poisoned(TokenForm{Life: []ui.Option{{}}, Products: []ui.Option{{}}, Errors: map[string]string{"name": "x"}, Enrolment: true})
	shell := sampleShell(SectionSettings, "Tokens")
	for name, c := range map[string]templ.Component{
		"tokens": TokensView(poisoned(sampleTokens())), "form": TokenFormView(TokenFormPage{shell, form}),
		"connect":   ConnectView(ConnectPage{shell, poisoned(Connect{CanEnrol: true})}),
		"connected": ConnectView(ConnectPage{shell, poisoned(Connect{Made: &MadeToken{}})}),
	} {
		t.Run(name, func(t *testing.T) {
			doc := parsed(t, c)
			strictPolicy(t, doc)
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

// The path of the token's file is one word of the shell, whatever its directory
// is called.
func TestPathsAreOneWordOfTheShell(t *testing.T) {
	for _, path := range []string{"/var/lib/fleetboard/enrolment-token", "/home/Mara Ilić/x", "/tmp/it's; rm -rf $HOME", "", "`id`", "*"} {
		out, err := exec.CommandContext(t.Context(), "bash", "-c", "printf %s "+shellWord(path)).Output()
		if err != nil || string(out) != path {
			t.Errorf("%q became %q, %v", path, out, err)
		}
	}
}
