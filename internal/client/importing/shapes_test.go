package importing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/client/importing"
)

// What beads says of an issue's state, of its text and of other issues.
func TestBeadsOfAllShapes(t *testing.T) {
	for in, want := range map[string]importing.Item{
		`"status":"tombstone","deleted_at":"2026-01-02T03:04:05Z","delete_reason":"batch delete","original_type":"bug"`: {Done: true, Ending: "deleted: batch delete"},
		`"status":"tombstone"`:                                                    {Done: true, Ending: "deleted"},
		`"status":"open","deleted_at":"2026-01-02T03:04:05Z"`:                     {Done: true, Ending: "deleted"},
		`"status":"closed","closed_at":"2026-01-02T03:04:05Z"`:                    {Done: true},
		`"status":"closed","close_reason":" Fixed\n in 1.2 "`:                     {Done: true, Ending: "Fixed in 1.2"},
		`"status":"open","is_template":true`:                                      {Done: true, Ending: "no work: a template or a pinned note"},
		`"status":"pinned"`:                                                       {Done: true, Ending: "no work: a template or a pinned note"},
		`"status":"in_progress","assignee":"ada"`:                                 {Held: "in progress"},
		`"status":"blocked"`:                                                      {Held: "blocked"},
		`"status":"deferred","defer_until":"2027-01-01T00:00:00Z"`:                {Held: "deferred until 2027-01-01T00:00:00Z"},
		`"status":"deferred"`:                                                     {Held: "deferred"},
		`"status":"awaiting_design"`:                                              {Held: "awaiting design"},
		`"status":""`:                                                             {},
		`"acceptance_criteria":"- [ ] one\n* two\n\n3. three\nfour\n1) [x] five"`: {Acceptance: []string{"one", "two", "three", "four", "five"}},
		`"description":"What","design":"How\n","notes":" "`:                       {Body: "What\n\n## Design\n\nHow"},
		`"notes":"So"`:                                                            {Body: "## Notes\n\nSo"},
		`"dependencies":[{"issue_id":"x","depends_on_id":"a","type":"discovered-from"},{"issue_id":"x","depends_on_id":"b","type":"supersedes"}]`: {
			Body: "## Links\n\n- discovered-from: a\n- supersedes: b"},
		`"dependencies":[{"issue_id":"x","depends_on_id":"a"},{"issue_id":"x","depends_on_id":"b","type":"waits-for"}]`:           {DependsOn: []string{"beads:a", "beads:b"}},
		`"dependencies":[{"issue_id":"other","depends_on_id":"a","type":"blocks"},{"issue_id":"x","depends_on_id":"","type":""}]`: {},
		`"dependencies":null,"labels":null`:                                              {},
		`"dependencies":[{"issue_id":"x","depends_on_id":"epic","type":"parent-child"}]`: {},
	} {
		items, err := importing.Beads("x", strings.NewReader(`{"id":"x","title":"t",`+in+"}\n"))
		want.Source, want.Title, want.Line = "beads:x", "t", 1
		if err != nil || len(items) != 1 || fmt.Sprintf("%+v", items[0]) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s:\n%+v %v, want\n%+v", in, items, err, want)
		}
	}
}

// An epic waits for its issues, wherever it stands in the file.
func TestEpicsWaitForTheirIssues(t *testing.T) {
	child := `{"id":"bd-1.%d","title":"t","dependencies":[{"issue_id":"bd-1.%d","depends_on_id":"bd-1","type":"parent-child"}]}` + "\n"
	items, err := importing.Beads("x", strings.NewReader(fmt.Sprintf(child, 1, 1)+`{"id":"bd-1","title":"e","issue_type":"epic"}`+"\n"+fmt.Sprintf(child, 2, 2)))
	if err != nil || !slices.Equal(items[1].DependsOn, []string{"beads:bd-1.1", "beads:bd-1.2"}) || len(items[0].DependsOn) != 0 {
		t.Errorf("%+v %v", items, err)
	}
}

// One issue of GitHub is one source, however its address and its end are written.
func TestGitHubOfAllShapes(t *testing.T) {
	const source, address = "github:acme/web#12", "https://github.com/acme/web/issues/12"
	for in, want := range map[string]importing.Item{
		`"url":"https://github.com/acme/web/issues/12"`:                           {Source: source, URL: address},
		`"url":"https://github.com/acme/web/issues/12/"`:                          {Source: source, URL: address},
		`"url":"https://github.com/acme/web/issues/12#issuecomment-7"`:            {Source: source, URL: address},
		`"url":"https://www.GitHub.com/acme/web/issues/12?from=mail"`:             {Source: source, URL: address},
		`"url":"https://github.com/acme/web/pull/12"`:                             {Source: "github:https://github.com/acme/web/pull/12", URL: "https://github.com/acme/web/pull/12"},
		`"url":"https://git.example:8443/acme/web/issues/12"`:                     {Source: "github:https://git.example:8443/acme/web/issues/12", URL: "https://git.example:8443/acme/web/issues/12"},
		`"state":"CLOSED","stateReason":"COMPLETED","url":"` + address + `"`:      {Source: source, URL: address, Done: true},
		`"state":"CLOSED","stateReason":"NOT_PLANNED","url":"` + address + `"`:    {Source: source, URL: address, Done: true, Ending: "not planned"},
		`"state":"closed","stateReason":"DUPLICATE","url":"` + address + `"`:      {Source: source, URL: address, Done: true, Ending: "duplicate"},
		`"closed":true,"url":"` + address + `"`:                                   {Source: source, URL: address, Done: true},
		`"state":"OPEN","stateReason":"REOPENED","url":"` + address + `"`:         {Source: source, URL: address},
		`"state":"OPEN","stateReason":null,"body":null,"url":"` + address + `"`:   {Source: source, URL: address},
		`"labels":[{"id":"x","name":"ui","color":"f00"}],"url":"` + address + `"`: {Source: source, URL: address, Tags: []string{"ui"}},
	} {
		items, err := importing.GitHub("x", strings.NewReader(`[{"number":12,"title":"t",`+in+"}]"))
		want.Title, want.Line = "t", 1
		if err != nil || len(items) != 1 || fmt.Sprintf("%+v", items[0]) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s:\n%+v %v, want\n%+v", in, items, err, want)
		}
	}
	for _, address := range []string{"", "acme/web/issues/12", "ftp://github.com/acme/web/issues/12", "javascript:alert(1)", "//github.com/a/b/issues/1"} {
		if items, err := importing.GitHub("x", strings.NewReader(`[{"title":"t","url":"`+address+`"}]`)); err == nil {
			t.Errorf("%s gives %+v", address, items)
		}
	}
}

// Tasks are what GitHub shows as such: nothing in code, in comments or in a sentence.
func TestMarkdownOfAllShapes(t *testing.T) {
	for in, want := range map[string]string{
		"- [ ] a\n- [x] b\n- [X] c":                               "a, b!, c!",
		"\ufeff- [ ] a\r\n  - [ ] b\r\n":                          "a(b), b",
		"* [ ] a\n+ [ ] b\n1. [ ] c\n2) [ ] d":                    "a, b, c, d",
		"1. [ ] a\n   1. [ ] b\n   2. [ ] c\n2. [ ] d":            "a(b c), b, c, d",
		"- [ ] a\n  - [ ] b\n    - [ ] c\n  - [ ] d\n- [ ] e":     "a(b d), b(c), c, d, e",
		"- [ ] a\n\n  more of a\n\n  - [ ] b":                     "a(b), b",
		"- heading\n  - [ ] a\n- [ ] b":                           "a, b",
		"- [ ] a\n  - note\n    - [ ] b":                          "a(b), b",
		"```\n- [ ] no\n```\n- [ ] a":                             "a",
		"````\n```\n- [ ] no\n```\n````\n- [ ] a":                 "a",
		"~~~ md\n```\n- [ ] no\n~~~\n- [ ] a":                     "a",
		"- [ ] a\n  ```\n  - [ ] no\n  ```\n- [ ] b":              "a, b",
		"```\n- [ ] no, and never closed":                         "",
		"text\n\n    - [ ] no":                                    "",
		"<!--\n- [ ] no\n-->\n- [ ] a":                            "a",
		"<!-- - [ ] no -->\n\n- [ ] a <!-- b -->":                 "a",
		"- [ ] a <!-- not closed":                                 "a",
		"> - [ ] a\n>   - [ ] b":                                  "a(b), b",
		"# - [ ] no\n\n- [ ] a":                                   "a",
		"a - [ ] no\n- [] no\n- [ ]no\n- [y] no\n[ ] no\n-[ ] no": "",
		"- [ ]\ta\n- [ ]   b  c ":                                 "a, b c",
		"- [ ] \n- [ ] a":                                         ", a",
	} {
		items, err := importing.Markdown("f.md", strings.NewReader(in))
		var got []string
		titles := map[string]string{}
		for _, one := range items {
			titles[one.Source] = one.Title
		}
		for _, one := range items {
			said := one.Title
			if len(one.DependsOn) > 0 {
				var below []string
				for _, source := range one.DependsOn {
					below = append(below, titles[source])
				}
				said += "(" + strings.Join(below, " ") + ")"
			}
			if one.Done {
				said += "!"
			}
			got = append(got, said)
		}
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%q gives %q %v, want %q", in, strings.Join(got, ", "), err, want)
		}
	}
}
