package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// timeout is how long a page may take to show what a test waits for, in ms: a machine may be busy.
const timeout = 60_000

// visitor is a person at a browser of their own. Whatever the console or the
// policy reports fails the test.
type visitor struct {
	t   *testing.T
	s   *server
	tab playwright.Page
	// outages says that the server is killed under the page: requests without an
	// answer are no complaints.
	outages bool
}

type look struct {
	theme         string // light or dark
	width, height int
	noScript      bool
	touch         bool
	zone, locale  string // of the reader; "" for those of the machine
}

var desktop = look{theme: "light", width: 1440, height: 900}

// visit opens a browser at the server.
func (s *server) visit(how look) *visitor {
	s.t.Helper()
	options := playwright.BrowserNewContextOptions{
		Viewport:          &playwright.Size{Width: how.width, Height: how.height},
		ColorScheme:       map[string]*playwright.ColorScheme{"light": playwright.ColorSchemeLight, "dark": playwright.ColorSchemeDark}[how.theme],
		JavaScriptEnabled: playwright.Bool(!how.noScript),
		HasTouch:          playwright.Bool(how.touch),
		BaseURL:           playwright.String(s.url),
	}
	if how.zone != "" {
		options.TimezoneId, options.Locale = &how.zone, &how.locale
	}
	context, err := chromium.NewContext(options)
	if err != nil {
		s.t.Fatal(err)
	}
	context.SetDefaultTimeout(timeout)
	context.SetDefaultNavigationTimeout(timeout)
	v := &visitor{t: s.t, s: s}
	if v.tab, err = context.NewPage(); err != nil {
		s.t.Fatal(err)
	}
	complaints := v.listen()
	s.t.Cleanup(func() {
		if s.t.Failed() {
			v.keepPicture()
		}
		_ = context.Close()
		for _, c := range complaints() {
			s.t.Errorf("the browser says: %s", c)
		}
	})
	return v
}

// listen gathers console errors, script errors, policy reports and server errors.
func (v *visitor) listen() func() []string {
	var mu sync.Mutex
	var list []string
	add := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, fmt.Sprintf(format, args...))
	}
	v.tab.OnConsole(func(m playwright.ConsoleMessage) {
		// A refusal that the page shows (409, 422) is logged as a failed load too.
		if v.outages && (strings.Contains(m.Text(), "net::ERR_") || strings.Contains(m.Text(), "Failed to fetch")) {
			return
		}
		if m.Type() == "error" && !strings.Contains(m.Text(), "status of 4") && !strings.Contains(m.Text(), "failed with status 409") {
			add("console: %s", m.Text())
		}
	})
	v.tab.OnPageError(func(err error) { add("script: %v", err) })
	v.tab.OnResponse(func(r playwright.Response) {
		if r.Status() >= 500 {
			add("%s answered %d", r.URL(), r.Status())
		}
	})
	v.tab.OnRequest(func(r playwright.Request) {
		if strings.HasSuffix(r.URL(), "/csp-report") {
			add("policy report: %v", r.URL())
		}
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return list
	}
}

// keepPicture leaves what the browser showed at the end of a failed test.
func (v *visitor) keepPicture() {
	dir := os.Getenv("FLEETBOARD_E2E_PICTURES")
	if dir == "" {
		return
	}
	name := strings.NewReplacer("/", "-", " ", "-").Replace(v.t.Name()) + ".png"
	_, _ = v.tab.Screenshot(playwright.PageScreenshotOptions{Path: playwright.String(dir + "/" + name)})
}

func (v *visitor) must(what string, err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatalf("%s: %v", what, err)
	}
}

func (v *visitor) open(path string) {
	v.t.Helper()
	_, err := v.tab.Goto(path)
	v.must("open "+path, err)
}

// logIn logs the owner in and ends on the board.
func (v *visitor) logIn() {
	v.t.Helper()
	v.open("/login")
	v.fill("#email", v.s.email)
	v.fill("#password", ownerPassword)
	v.click("button[type=submit]")
	// The board is there before everything on it is loaded.
	v.must("reach the board", v.tab.WaitForURL("**/board", playwright.PageWaitForURLOptions{WaitUntil: playwright.WaitUntilStateDomcontentloaded}))
}

func (v *visitor) fill(selector, text string) {
	v.t.Helper()
	v.must("fill "+selector, v.tab.Locator(selector).First().Fill(text))
}

func (v *visitor) click(selector string) {
	v.t.Helper()
	v.must("click "+selector, v.tab.Locator(selector).First().Click())
}

// sees waits until the selector shows on the page.
func (v *visitor) sees(selector string) {
	v.t.Helper()
	err := v.tab.Locator(selector).First().WaitFor()
	if err != nil {
		v.t.Fatalf("%s does not show at %s: %v", selector, v.tab.URL(), err)
	}
}

// liveShown is how the page marks an open stream.
const liveShown = "#live-state:has-text('Live')"

// live waits until the page's stream is open.
func (v *visitor) live() {
	v.t.Helper()
	v.sees(liveShown)
}

// card returns the selector of a job's card in a column.
func card(key, column string) string {
	return fmt.Sprintf("#list-%s #card-%s", column, strings.ToLower(key))
}

// picture takes a screenshot into dir, for a person to look at.
func (v *visitor) picture(path string) {
	v.t.Helper()
	_, err := v.tab.Screenshot(playwright.PageScreenshotOptions{Path: playwright.String(path)})
	v.must("picture", err)
}
