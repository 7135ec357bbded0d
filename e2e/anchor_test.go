package e2e

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// landed says what is wrong with how the page shows the part that its address names; "" where
// its heading is in view, under no bar, and its field has the focus.
const landed = `async (id) => {
	const fields = ":is(input:not([type=hidden]), select, textarea):not(:disabled)";
	const target = document.getElementById(id);
	if (!target) return "is not there";
	if (target.matches("dialog")) return target.open ? "" : "is not open";
	await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	const whole = target.matches("form, fieldset, [role=group], [role=radiogroup]");
	const field = target.matches(fields) ? target : target.querySelector(whole ? fields : "[data-focus]");
	if (field && !target.contains(document.activeElement)) return "has no focus: it is on " + (document.activeElement.id || document.activeElement.tagName);
	if (field && !document.activeElement.matches(fields)) return "has its focus on no field";
	const covered = (el, what) => {
		const text = [...el.getClientRects()][0];
		if (!text) return what + " is not shown";
		const x = Math.max(1, text.left + Math.min(text.width / 2, 12)), y = text.top + Math.min(text.height / 2, 12);
		if (x > innerWidth || y < 0 || y > innerHeight) return what + " is out of view at " + Math.round(x) + ", " + Math.round(y);
		const top = document.elementFromPoint(x, y);
		return el.contains(top) || top?.contains(el) || top?.closest("label")?.control === el ? "" : what + " is under " + (top?.id || top?.className);
	};
	const of = field === target ? target.closest(".field")?.querySelector("label, .field-l") : null;
	const heading = of ?? (target.matches("h1, h2, h3, legend") ? target : target.querySelector("h1, h2, h3, legend, .field-l, p, a")) ?? target;
	return covered(heading, "the heading") || (field && target === field ? covered(field, "the field") : "");
}`

var (
	withPart = regexp.MustCompile(`href="([^"#]*)#([^"]+)"`)
	anyName  = regexp.MustCompile(`/jobs/[^/#]+|[0-9a-f-]{36}|[0-9]+`)
)

// Each link into a page leads to its place: the heading is in view, under no bar, and the field
// has the focus, at every width.
func TestEachLinkIntoAPageLandsAtItsPlace(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	anchors := s.findAnchors(furnishLong(t, s))
	if len(anchors) < 30 {
		t.Fatalf("only %d links lead into a page: %v", len(anchors), anchors)
	}
	for _, width := range []int{390, 768, 1440} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			v := s.in(t).visit(look{theme: "light", width: width, height: 800})
			v.logIn()
			for _, anchor := range anchors {
				path, id, _ := strings.Cut(anchor, "#")
				v.open("/healthz") // so that the address is gone to, and not only its part
				v.open(path + "#" + id)
				name, err := url.PathUnescape(id)
				v.must("read "+id, err)
				wrong, err := v.tab.Evaluate(landed, name)
				v.must("look at "+anchor, err)
				if wrong != "" {
					t.Errorf("%s: %v", anchor, wrong)
				}
			}
		})
	}
}

// An address may end with anything: the scripts of the page run all the same.
func TestAnAddressMayEndWithAnything(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Alpha")
	v := s.visit(desktop)
	v.logIn()
	for _, part := range []string{"%", "%E0%A4%A", "a%00b"} {
		v.open("/healthz")
		v.open("/board#" + part)
		v.live()
	}
}

// findAnchors returns the links with a part that pages have, one of each kind.
func (s *server) findAnchors(paths map[string]string) []string {
	s.t.Helper()
	e := &evil{server: s, acceptedByPlace: map[string]int{}}
	e.logIn()
	kinds := map[string]string{}
	for _, path := range paths {
		r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		answer, err := e.browser.Do(r)
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, m := range withPart.FindAllStringSubmatch(string(text), -1) {
			to, id := html.UnescapeString(m[1]), html.UnescapeString(m[2])
			if to == "" {
				to = path
			}
			if strings.HasPrefix(id, "i-") || strings.HasPrefix(id, "s-") || id == "main" || !strings.HasPrefix(to, "/") {
				continue
			}
			page, _, _ := strings.Cut(to, "?")
			kind := anyName.ReplaceAllString(page+"#"+id, "0")
			kinds[kind] = max(kinds[kind], to+"#"+id)
		}
	}
	list := make([]string, 0, len(kinds))
	for _, anchor := range kinds {
		list = append(list, anchor)
	}
	slices.Sort(list)
	return list
}
