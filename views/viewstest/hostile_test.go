package viewstest

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/views/agents"
	"github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/login"
	"github.com/fleetboard/fleetboard/views/needsyou"
	"github.com/fleetboard/fleetboard/views/palette"
	"github.com/fleetboard/fleetboard/views/review"
	"github.com/fleetboard/fleetboard/views/ui"
)

func TestHostileTextStaysText(t *testing.T) {
	page := board.Page{Shell: Shell(layout.SectionBoard, ""), Board: Board()}
	for i := range page.Board.Columns {
		page.Board.Columns[i].Empty = ui.Empty{}
	}
	names := make([]string, 0, 6)
	for _, c := range page.Board.Columns {
		names = append(names, c.Name)
	}
	page = Poisoned(page)
	for i := range page.Board.Columns {
		page.Board.Columns[i].Name = names[i] // one of six words
	}
	bad := samplePagesOf(t, page)
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			doc := Parsed(t, c)
			StrictPolicy(t, doc)
			if n := doc.Find("[data-pwned], img, hx-partial[hx-target=body]").Length(); n != 0 {
				t.Errorf("%d elements of the hostile text became markup", n)
			}
			doc.Find("p, span, a, h1, h2, h3, td, dd, b, pre, title").Each(func(_ int, el *goquery.Selection) {
				if strings.ContainsAny(el.Text(), "\u202e\x1b") {
					t.Errorf("a control character is shown in <%s>", goquery.NodeName(el))
				}
			})
		})
	}
}

func samplePagesOf(t *testing.T, page board.Page) map[string]templ.Component {
	t.Helper()
	shell := Poisoned(Shell("", ""))
	j, w, d := Poisoned(sampleJob()), Poisoned(waitingJob()), Poisoned(doneJob())
	d.Question = &job.Question{Agent: hostile, Text: hostile}
	for _, x := range []*job.Job{&j, &w, &d} {
		x.Body = ui.Markdown(hostile)
	}
	return map[string]templ.Component{
		"board":     board.View(page),
		"first run": board.View(board.Page{Shell: shell, Board: board.Board{FirstRun: ptr(Poisoned(firstRun))}}),
		"job":       job.View(job.Page{Shell: shell, Job: j}), "waiting": job.View(job.Page{Shell: shell, Job: w}), "done": job.View(job.Page{Shell: shell, Job: d}),
		"needs-you": needsyou.View(shell, Poisoned(sampleNeeds())),
		"review":    review.View(shell, Poisoned(sampleReview())), "linkable": job.LinkOptions(hostile, Poisoned([]job.LinkOption{{}})),
		"form": jobform.View(jobform.Page{Shell: shell, Form: Poisoned(badForm())}), "agents": agents.View(shell, Poisoned(sampleAgents())),
		"edit": jobform.EditView(jobform.Page{Shell: shell, Form: Poisoned(editForm())}), "copy": jobform.View(jobform.Page{Shell: shell, Form: Poisoned(copiedForm())}),
		"log in":  login.LoginView(login.Login{Email: hostile, Next: hostile, Error: hostile}),
		"set up":  login.SetupView(Poisoned(login.Setup{URL: links.Setup(hostile), Errors: map[string]string{"name": "x", "email": "x", "password": "x"}})),
		"error":   layout.ErrorView(layout.ErrorPage{Code: 500, Title: hostile, Message: hostile, RequestID: hostile}),
		"palette": palette.Rows(Poisoned(samplePalette())), "found": jobform.DependencyOptions(Poisoned(jobform.JobOptions{Jobs: []jobform.Dependency{{}}})),
		"toast": layout.LiveToast(Poisoned(ui.Toast{Tone: ui.Bad})), "routing": jobform.RoutabilityAnswer(Poisoned(sampleRouting())),
	}
}

func ptr[T any](v T) *T { return &v }

// The one address that comes from an agent is shown as a link only when it is
// a harmless one.
func TestAddressFromAnAgent(t *testing.T) {
	for address, ok := range map[string]bool{"https://git.example/x/1": true, "javascript:alert(1)": false, "data:text/html,x": false} {
		j := doneJob()
		j.Result.LinkURL, j.Result.LinkText = address, "the change"
		got := Parsed(t, job.Panel(j)).Find("#result a").AttrOr("href", "")
		if (got == address) != ok {
			t.Errorf("%s becomes %q", address, got)
		}
	}
}
