package links_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/views/links"
)

// Whatever a name holds, the address stays on its path of ours.
func TestNamesCannotLeaveTheirPath(t *testing.T) {
	for _, name := range []string{"FB-1", "a/b", "../login", "//evil", `\evil`, "x?y#z", "ä ö", "javascript:alert(1)", "%2f", ""} {
		for prefix, got := range map[string]string{
			"/jobs/": links.JobAction(name, "pause"), "/factories/": links.Drain(name), "/agents/": links.Terminate(name), "/setup/": links.Setup(name),
		} {
			u, err := url.Parse(got)
			if err != nil || u.Host != "" || !strings.HasPrefix(got, prefix) || u.RawQuery != "" || u.Fragment != "" {
				t.Errorf("%q gives %q", name, got)
			}
			if prefix == "/jobs/" && strings.Count(u.EscapedPath(), "/") != 3 {
				t.Errorf("%q adds a path segment: %q", name, got)
			}
		}
	}
}

func TestBoardKeepsItsFilter(t *testing.T) {
	three := 3
	f := links.Filter{Products: []string{"Ledger & API"}, Priority: &three, Query: "a b", Group: "status", Unroutable: true}
	if got, want := links.BoardWith(f), "/board?priority=3&product=Ledger+%26+API&q=a+b&show=unroutable"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := links.BoardWith(links.Filter{}); got != "/board" {
		t.Errorf("an empty filter gives %q", got)
	}
	if got, want := links.BoardColumn("done", "c1", f), "/board/column/done?after=c1&priority=3&product=Ledger+%26+API&q=a+b&show=unroutable"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	query := url.Values{"show": {"idle", "dead"}, "kind": {""}, "after": {"7"}}
	if got, want := links.Live("agents", "17", query), "/live?after=17&on=agents&page=7&show=idle&show=dead"; got != want {
		t.Errorf("a page's stream %s, want %s", got, want)
	}
	if got, want := links.LiveJob("17", "FB-1"), "/live?after=17&job=FB-1&on=job"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
