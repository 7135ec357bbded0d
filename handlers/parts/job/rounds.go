package job

import (
	"slices"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend"
	view "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Limits of what a page shows of a verdict; the whole is on the page of the verify job. Texts in characters.
const (
	maxRemarks  = 20 // findings of a round
	maxRemark   = 600
	maxEvidence = 300
)

// sign is how a word of verifiers is shown.
type sign struct {
	word, icon string
	tone       ui.Tone
}

// verdictSigns are those of verdicts, answerSigns those of criteria, severityTones those of findings.
var (
	verdictSigns = map[string]sign{
		verdict.Approve: {"Approves", "circle-check", ui.OK},
		verdict.Changes: {"Wants changes", "undo-2", ui.Warn},
		verdict.Unsure:  {"Not sure", "info", ui.Warn},
	}
	answerSigns = map[string]sign{
		"yes": {"Met", "circle-check", ui.OK}, "no": {"Not met", "circle-x", ui.Bad}, "unknown": {"Unknown", "info", ui.Plain},
	}
	severityTones = map[string]ui.Tone{"blocker": ui.Bad, "major": ui.Warn}
	openSigns     = map[screens.VerificationState]sign{
		screens.VerificationWorks:  {"Verifying", "eye", ui.Plain},
		screens.VerificationWaits:  {"Waits for a verifier", "hourglass", ui.Plain},
		screens.VerificationHeld:   {"Verification waits", "hourglass", ui.Plain},
		screens.VerificationNobody: {"Nobody may verify it", "unplug", ui.Warn},
		screens.VerificationEnded:  {"No verdict", "circle-x", ui.Warn},
	}
)

// signProgress returns how a page shows how far a verification is.
func signProgress(p screens.Progress) sign {
	if p.State == screens.VerificationSaid {
		return verdictSigns[p.Verdict]
	}
	return openSigns[p.State]
}

// describeRound is "round 2 of 3"; beyond the last one, where rounds were taken away, it is "round 2".
func describeRound(p screens.Progress) string {
	text := "round " + strconv.Itoa(p.Round)
	if p.Round <= p.Rounds {
		text += " of " + strconv.Itoa(p.Rounds)
	}
	return text
}

// VerifiedLine is the line of a card that says how far the verification of its work is: "Verifying · bob · 3m
// · round 2 of 3", "bob approves · 3 of 3 met · round 2 of 3 · $0.25", the cost of all rounds.
func VerifiedLine(p screens.Progress, now time.Time) *view.Reason {
	s := signProgress(p)
	text := ui.Text(s.word)
	switch p.State {
	case screens.VerificationWorks:
		text = append(text, ui.T(" · "), ui.Name(p.Agent))
		if p.Since != nil {
			text = append(text, ui.T(" · "), ui.Moment(ui.For(*p.Since, now)))
		}
	case screens.VerificationSaid:
		text = ui.Say(ui.Name(p.Agent), ui.T(map[string]string{verdict.Approve: " approves", verdict.Changes: " wants changes",
			verdict.Unsure: " is not sure"}[p.Verdict]))
	}
	if p.Judged > 0 {
		text = append(text, ui.T(" · "+strconv.Itoa(p.Met)+" of "+strconv.Itoa(p.Judged)+" met"))
	}
	text = append(text, ui.T(" · "+describeRound(p)))
	if p.Spent > 0 {
		text = append(text, ui.T(" · "+p.Spent.String()))
	}
	return &view.Reason{Icon: s.icon, Tone: s.tone, Text: text}
}

// Verification shows the verifications of a job, the newest first.
func Verification(j jobs.Job, rounds []screens.Round, more bool, now time.Time) view.Verification {
	var v view.Verification
	if len(rounds) == 0 {
		return v
	}
	var cost spend.Nanos
	for _, r := range rounds {
		v.Rounds = append(v.Rounds, round(r, now))
		cost += min(r.Cost, spend.MaxAmount)
	}
	v.Note = describeRound(rounds[0].Progress)
	if cost > 0 {
		v.Note += ", " + cost.String()
	}
	if more {
		v.More = ui.Text("There are older ones: fleet job verifications " + j.Key + " lists all.")
	}
	newest := rounds[0].Progress
	if j.Status != jobs.InReview || rounds[0].Epoch != j.Epoch {
		return v
	}
	switch newest.State {
	case screens.VerificationWorks:
		v.Open = ui.Say(ui.Name(newest.Agent), ui.T(" on "), ui.Name(newest.Factory), ui.T(" verifies it"))
		if newest.Since != nil {
			v.Open = append(v.Open, ui.T(" for "), ui.Moment(ui.For(*newest.Since, now)))
		}
		v.Open = append(v.Open, ui.T("."))
	case screens.VerificationWaits, screens.VerificationHeld:
		v.Open = ui.Say(ui.T("It waits for an agent to verify it for "), ui.Moment(ui.For(newest.At, now)), ui.T("."))
	default:
		return v
	}
	v.Choice = "A person may decide without waiting; that cancels the verification."
	return v
}

func round(r screens.Round, now time.Time) view.Round {
	s := signProgress(r.Progress)
	m := view.Round{ID: "round-" + ui.DOMID(r.Key), Number: web.Capital(describeRound(r.Progress)), Word: s.word, Icon: s.icon,
		Tone: s.tone}
	if r.State == screens.VerificationEnded {
		m.Error = web.Beginning(r.Error, maxRemark)
	}
	if r.Agent != "" {
		by := ui.Say(ui.Name(r.Agent))
		if r.Factory != "" && r.Factory != r.Agent {
			by = append(by, ui.T(" on "), ui.Name(r.Factory))
		}
		if r.Model != "" {
			by = append(by, ui.T(" with "+web.FirstLine(r.Model, web.MaxQuote)))
		}
		m.Facts = append(m.Facts, by)
	}
	m.Facts = append(m.Facts, ui.Say(ui.Key(ShortCommit(r.Commit))), ui.Say(ui.Link(r.Key, links.Job(r.Key))))
	if r.Cost > 0 {
		m.Facts = append(m.Facts, ui.Text(r.Cost.String()))
	}
	if r.SentBack {
		m.Facts = append(m.Facts, ui.Text("sent back"))
	}
	switch {
	case r.EndedAt != nil:
		m.At = ui.Ago(*r.EndedAt, now)
	case r.State == screens.VerificationWorks && r.Since != nil:
		m.At = ui.For(*r.Since, now)
	default:
		m.At = ui.For(r.At, now)
	}
	for _, c := range r.Criteria {
		m.Criteria = append(m.Criteria, judged(c))
	}
	m.Findings, m.Hidden = remarks(r.Findings)
	return m
}

func judged(c verdict.Criterion) view.Judged {
	s := answerSigns[c.Met]
	return view.Judged{Text: c.Text, Word: s.word, Evidence: web.Beginning(c.Evidence, maxEvidence), Icon: s.icon, Tone: s.tone}
}

// remarks returns the findings, the worst first, as many as a page shows.
func remarks(list []verdict.Finding) (shown []view.Finding, hidden string) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b verdict.Finding) int {
		return slices.Index(verdict.Severities, a.Severity) - slices.Index(verdict.Severities, b.Severity)
	})
	for _, f := range list[:min(len(list), maxRemarks)] {
		place := f.Path
		if f.Line > 0 {
			place += ":" + strconv.Itoa(f.Line)
		}
		shown = append(shown, view.Finding{Severity: web.Capital(f.Severity), Place: place, Text: web.Beginning(f.Text, maxRemark),
			Tone: severityTones[f.Severity]})
	}
	if more := len(list) - maxRemarks; more > 0 {
		hidden = "and " + web.Plural(more, "finding", "findings") + " more"
	}
	return shown, hidden
}

// JudgedCriteria returns the check list of a job with what the newest verdict on its commit says of them.
func JudgedCriteria(j jobs.Job, canWrite bool, rounds []screens.Round) view.Acceptance {
	a := Criteria(j, canWrite)
	if len(rounds) == 0 || rounds[0].State != screens.VerificationSaid || rounds[0].Commit != j.HandedIn() {
		return a
	}
	for i := range a.Items {
		for _, c := range rounds[0].Criteria {
			if c.Text == a.Items[i].Text {
				said := judged(c)
				a.Items[i].Said = &said
			}
		}
	}
	return a
}
