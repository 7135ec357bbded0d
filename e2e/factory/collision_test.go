package factory

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// board returns the card of a job on the board that a person sees.
func (s *serverAndRepos) board(browser *http.Client, key string) string {
	s.t.Helper()
	body := s.send(browser, http.MethodGet, "/board", "")
	_, card, _ := strings.Cut(body, `data-card="`+key+`"`)
	card, _, _ = strings.Cut(card, "</article>")
	return strings.Join(strings.Fields(markup.ReplaceAllString(card, " ")), " ")
}

var markup = regexp.MustCompile(`<[^>]*>`)

// logIn returns the browser of a person.
func (s *serverAndRepos) logIn() *http.Client {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	s.send(browser, http.MethodPost, "/login", url.Values{"email": {"mara@kestrel.example"}, "password": {"quiet watch room 12"}}.Encode())
	return browser
}

// send sends a request of a browser, a form where it has one, and returns the page that answers.
func (s *serverAndRepos) send(browser *http.Client, method, path, form string) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url()+path, strings.NewReader(form))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := browser.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s answers %d, %v", path, answer.StatusCode, err)
	}
	return string(body)
}

// Two workers work in one repository, and their agents change the same file, one in a commit and one
// in its directory: the cards of both say so while both are at work, and no longer.
func TestWorkersTellThatTheirAgentsTouchOneFile(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	flag := filepath.Join(s.dir, "go")
	wait := "; until test -e " + flag + "; do sleep 0.1; done"
	one := s.submit(step{"run": "mkdir -p docs; echo one > docs/a.md; echo one >> README.md; git add -A; git commit -qm One" + wait})
	two := s.submit(step{"run": "mkdir -p docs; echo two > docs/a.md; echo two > 'own é.md'" + wait})
	s.worker("desk", "--seats", "1")
	s.worker("cellar", "--seats", "1")
	browser := s.logIn()
	collides := func(key string) (list []api.Collision) {
		answer, err := s.person.ListJobCollisionsWithResponse(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return answer.JSON200.Items
	}
	s.until("both jobs collide", func() bool { return len(collides(one)) == 1 && len(collides(two)) == 1 })
	for key, other := range map[string]string{one: two, two: one} {
		if c := collides(key)[0]; c.Job != other || !slices.Equal(c.Paths, []string{"docs/a.md"}) || c.MorePaths != 0 {
			t.Errorf("%s collides as %+v", key, c)
		}
		if card := s.board(browser, key); !strings.Contains(card, other+" touches docs/a.md too") {
			t.Errorf("the card of %s says %q", key, card)
		}
	}
	s.until("the second one has said all that it touches", func() bool {
		answer, err := s.person.ListJobCollisionsWithResponse(t.Context(), two)
		return err == nil && answer.JSON200.FilesTouched == 2
	})
	s.git(s.dir, "init", "-q", flag)
	s.untilStatus(one, api.JobStatusCompleted)
	s.untilStatus(two, api.JobStatusCompleted)
	if len(collides(one))+len(collides(two)) > 0 || strings.Contains(s.board(browser, one)+s.board(browser, two), "too") {
		t.Error("work that is over collides")
	}
}
