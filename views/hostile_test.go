package views

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// hostile is what an agent may write into any text. The mark shows where it
// was taken for markup.
const hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(1)><b data-pwned>\u202e\x1b[31m</title></textarea><hx-partial hx-target=\"body\">"

// poison writes the hostile text into every text of a model. Addresses stay:
// views/links builds them from escaped names.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if v.Type().Elem().Kind() == reflect.String {
				v.SetMapIndex(k, reflect.ValueOf(hostile))
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[ui.SafeHTML]() {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); !isAddress(f.Name) {
				poison(v.Field(i))
			}
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(hostile)
		}
	}
}

// isAddress names the fields that handlers fill from views/links or from
// words of their own, never from what agents or people wrote.
func isAddress(field string) bool {
	for _, s := range []string{"URL", "Href", "Icon", "Verb", "Column", "To", "Path", "Undrain", "Terminate", "Answer", "ID", "Rel"} {
		if field == s || strings.HasSuffix(field, "URL") {
			return true
		}
	}
	return false
}

func poisoned[T any](m T) T {
	poison(reflect.ValueOf(&m).Elem())
	return m
}

func TestHostileTextStaysText(t *testing.T) {
	board := BoardPage{sampleShell(SectionBoard, ""), sampleBoard()}
	for i := range board.Board.Columns {
		board.Board.Columns[i].Empty = ui.Empty{}
	}
	names := make([]string, 0, 6)
	for _, c := range board.Board.Columns {
		names = append(names, c.Name)
	}
	board = poisoned(board)
	for i := range board.Board.Columns {
		board.Board.Columns[i].Name = names[i] // one of six words
	}
	bad := samplePagesOf(t, board)
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			doc := parsed(t, c)
			strictPolicy(t, doc)
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

func samplePagesOf(t *testing.T, board BoardPage) map[string]templ.Component {
	t.Helper()
	shell := poisoned(sampleShell("", ""))
	j, w, d := poisoned(sampleJob()), poisoned(waitingJob()), poisoned(doneJob())
	d.Question = &Question{Agent: hostile, Text: hostile}
	for _, x := range []*Job{&j, &w, &d} {
		x.Body = ui.Markdown(hostile)
	}
	return map[string]templ.Component{
		"board":     BoardView(board),
		"first run": BoardView(BoardPage{shell, Board{FirstRun: ptr(poisoned(firstRun))}}),
		"job":       JobView(JobPage{Shell: shell, Job: j}), "waiting": JobView(JobPage{Shell: shell, Job: w}), "done": JobView(JobPage{Shell: shell, Job: d}),
		"review": ReviewView(ReviewPage{shell, poisoned(sampleReview())}), "linkable": LinkOptions(hostile, poisoned([]LinkOption{{}})),
		"form": NewJobView(NewJobPage{shell, poisoned(badForm())}), "agents": AgentsView(AgentsPage{shell, poisoned(sampleAgents())}),
		"log in":  LoginView(Login{Email: hostile, Next: hostile, Error: hostile}),
		"set up":  SetupView(poisoned(Setup{URL: links.Setup(hostile), Errors: map[string]string{"name": "x", "email": "x", "password": "x"}})),
		"error":   ErrorView(ErrorPage{Code: 500, Title: hostile, Message: hostile, RequestID: hostile}),
		"palette": PaletteRows(poisoned(samplePalette())), "found": DependencyOptions(poisoned(JobOptions{Jobs: []Dependency{{}}})),
		"toast": LiveToast(poisoned(ui.Toast{Tone: ui.Bad})), "routing": RoutabilityAnswer(poisoned(sampleRouting())),
	}
}

func ptr[T any](v T) *T { return &v }

// The one address that comes from an agent is shown as a link only when it is
// a harmless one.
func TestAddressFromAnAgent(t *testing.T) {
	for address, ok := range map[string]bool{"https://git.example/x/1": true, "javascript:alert(1)": false, "data:text/html,x": false} {
		j := doneJob()
		j.Result.LinkURL, j.Result.LinkText = address, "the change"
		got := parsed(t, JobPanel(j)).Find("#result a").AttrOr("href", "")
		if (got == address) != ok {
			t.Errorf("%s becomes %q", address, got)
		}
	}
}
