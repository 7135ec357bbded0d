package reason

import (
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/views/ui"
)

// verification is "bob verifies it on desk since 10:02, in FB-3", or why nobody does.
func (s subject) verification() ui.Sentence {
	in := ui.Say()
	if len(s.why.Keys) > 0 {
		in = append(ui.Say(ui.T(", in ")), web.JoinSpans(KeyLinks(s.why.Keys))...)
	}
	switch s.why.Verification.State {
	case screens.VerificationWorks:
		text := append(ui.Say(ui.Name(s.why.By.Name), ui.T(" verifies it on ")), Factories(s.why.Factories)...)
		if s.why.Since != nil {
			text = append(text, ui.T(" since "), s.at(*s.why.Since))
		}
		return append(text, in...)
	case screens.VerificationWaits:
		return append(ui.Say(ui.T("Waits for an agent to verify it since "), s.at(*s.why.Since)), in...)
	case screens.VerificationNobody:
		text := append(ui.Text("Nobody may verify it"), in...)
		return append(text, ui.T(": "+s.describeAway()+"; decide without it, or start another agent"))
	case screens.VerificationHeld:
		return append(ui.Text("Its verification waits"), in...)
	case screens.VerificationSaid:
		return append(ui.Text(s.verdict()), in...)
	case screens.VerificationEnded:
		text := "Its verification ended without a verdict"
		if s.why.Text != "" {
			text += " (" + web.FirstLine(s.why.Text, web.MaxQuote) + ")"
		}
		return append(ui.Text(text), in...)
	case screens.VerificationNoWork:
		return ui.Text("It names no commit, so nobody verifies it")
	}
	return ui.Text("It was handed in before its product had work verified")
}

// verdict is "bob approves it", or what else a verifier says.
func (s subject) verdict() string {
	who := s.why.By.Name
	if who == "" {
		who = "Its verifier"
	}
	switch s.why.Verification.Verdict {
	case "approve":
		return who + " approves it"
	case "changes":
		return who + " wants changes, and no rounds are left"
	}
	return who + " is not sure"
}

// describeAway says what keeps those from verifying that come nearest.
func (s subject) describeAway() string {
	var away, lacks []string
	for _, need := range s.why.Missing {
		if why := distinct.Explain(need); why != "" {
			away = append(away, why)
		} else {
			lacks = append(lacks, need)
		}
	}
	switch {
	case s.why.Nearest == "":
		return "there is no factory"
	case len(away) > 0 && len(lacks) == 0:
		return strings.Join(away, ", ") + ", and no other agent could"
	case len(lacks) > 0:
		return "no agent beside its authors offers " + strings.Join(lacks, ", ")
	}
	return "no factory that could takes jobs now"
}

// nextOfVerification says what a person can do once nobody verifies any more.
func (s subject) nextOfVerification() ui.Sentence {
	switch s.why.Verification.State {
	case screens.VerificationEnded, screens.VerificationNoWork, screens.VerificationNotMade, screens.VerificationSaid:
		return ui.Text("Decide about it")
	}
	return nil
}
