package importing_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/client/importing"
)

func five() *int { n := 5; return &n }

func TestBeads(t *testing.T) {
	in := "\ufeff" + `{"id":"bd-1","title":" Ship  it ","description":"a\r\nb\u0000","status":"open","priority":2,"issue_type":"bug",` +
		`"labels":["ui","ui",""],"dependencies":[{"issue_id":"bd-1","depends_on_id":"bd-2","type":"blocks"},` +
		`{"issue_id":"bd-1","depends_on_id":"bd-3","type":"related"}],"other":1}` + "\r\n\r\n" + `{"id":"bd-2","title":"x","status":"closed"}`
	got, err := importing.Beads("x", strings.NewReader(in))
	want := []importing.Item{
		{Source: "beads:bd-1", Title: "Ship it", Body: "a\nb\n\n## Links\n\n- related: bd-3", Kind: "bug", Priority: five(), Tags: []string{"ui"},
			DependsOn: []string{"beads:bd-2"}, Line: 1},
		{Source: "beads:bd-2", Title: "x", Done: true, Line: 3}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v\nwant %+v", got, err, want)
	}
}

func TestGitHub(t *testing.T) {
	in := "\ufeff[\r\n" + `{"number":12,"title":"Ship","body":"b","state":"OPEN","url":"https://github.com/acme/web/issues/12",` +
		`"labels":[{"name":"ui"}],"createdAt":"2026-01-02T03:04:05Z"},` + "\n" +
		`{"number":3,"title":"Old","state":"CLOSED","url":"https://git.acme.example/a/b/issues/3"}]` + "\n"
	got, err := importing.GitHub("x", strings.NewReader(in))
	want := []importing.Item{{Source: "github:acme/web#12", Title: "Ship", Body: "b", Tags: []string{"ui"},
		URL: "https://github.com/acme/web/issues/12", Line: 2},
		{Source: "github:https://git.acme.example/a/b/issues/3", Title: "Old", Done: true,
			URL: "https://git.acme.example/a/b/issues/3", Line: 3}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v\nwant %+v", got, err, want)
	}
}

func TestMarkdown(t *testing.T) {
	in := "\ufeff# Plan\r\n- [ ] Ship it!\r\n  - [x] Write *docs*\r\n\t- [ ] Test\n- no task\n```\n- [ ] code\n```\n## Next\n  1. [ ] Ship it!\n"
	got, err := importing.Markdown("dir/tasks.md", strings.NewReader(in))
	want := []importing.Item{
		{Source: "markdown:tasks.md#ship-it", Title: "Ship it!", Line: 2,
			DependsOn: []string{"markdown:tasks.md#ship-it/write-docs", "markdown:tasks.md#ship-it/write-docs/test"}},
		{Source: "markdown:tasks.md#ship-it/write-docs", Title: "Write *docs*", Done: true, Line: 3},
		{Source: "markdown:tasks.md#ship-it/write-docs/test", Title: "Test", Line: 4},
		{Source: "markdown:tasks.md#ship-it-2", Title: "Ship it!", Line: 10}}
	// The tab is wider than the two spaces above it: a grandchild.
	want[1].DependsOn, want[0].DependsOn = want[0].DependsOn[1:], want[0].DependsOn[:1]
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v\nwant %+v", got, err, want)
	}
}

func TestRefusalsNameTheLine(t *testing.T) {
	huge := strings.Repeat("x", importing.MaxLine+1)
	for name, c := range map[string]struct {
		format, in string
		line       int
	}{
		"broken bead":      {"beads", "{\"id\":\"a\"}\n{\"id\":", 2},
		"bead of a list":   {"beads", "[]", 1},
		"no id":            {"beads", "\n\n{}", 3},
		"priority":         {"beads", `{"id":"a","priority":5}`, 1},
		"twice":            {"beads", "{\"id\":\"a\"}\n{\"id\":\"a\"}", 2},
		"huge bead":        {"beads", "\n" + huge, 2},
		"huge task":        {"markdown", "a\nb\n" + huge, 3},
		"broken issues":    {"github", "[\n{\"url\":\"https://github.com/a/b/issues/1\"},\n{\"url\" 3}]", 3},
		"no array":         {"github", "\n{}", 2},
		"unfinished":       {"github", "[\n", 2},
		"no url":           {"github", "[\n\n{\"title\":\"a\"}]", 3},
		"more after it":    {"github", "[]\n[]", 2},
		"issue of a type":  {"github", "[{\"url\":\"https://github.com/a/b/issues/1\"},\n{\"title\":1}]", 2},
		"the same twice":   {"github", "[{\"url\":\"https://github.com/a/b/issues/1\"},\n{\"url\":\"https://github.com/a/b/issues/1\"}]", 2},
		"nothing to parse": {"github", "", 1},
	} {
		_, err := importing.Readers[c.format]("x", strings.NewReader(c.in))
		at, ok := errors.AsType[*importing.LineError](err)
		if !ok || at.Line != c.line {
			t.Errorf("%s: %v; want line %d", name, err, c.line)
		}
	}
}

func TestKeysAreOfTheirForm(t *testing.T) {
	got := importing.MakeKey("github:acme/web#12")
	if !strings.HasPrefix(got, "12-") || got == importing.MakeKey("github:acme/other#12") || got != importing.MakeKey("github:acme/web#12") {
		t.Errorf("key %s", got)
	}
}

// sound fails the test where items are not what readers promise.
func sound(t *testing.T, items []importing.Item) {
	var sources []string
	for _, one := range items {
		if slices.Contains(sources, one.Source) || one.Line < 1 || strings.ContainsAny(one.Title, "\r\n\x00") {
			t.Errorf("%+v", one)
		}
		if key := importing.MakeKey(one.Source); len(key) > 64 || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || key[0] == '-' {
			t.Errorf("key %q", key)
		}
		sources = append(sources, one.Source)
	}
}

func fuzz(f *testing.F, format string, seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		items, err := importing.Readers[format]("a.md", strings.NewReader(in))
		if err == nil {
			sound(t, items)
		}
	})
}

func FuzzBeads(f *testing.F) {
	fuzz(f, "beads", `{"id":"bd-1","title":"x"}`, "{\"id\":\"Ü\"}\n{\"id\":\"/\"}")
}

func FuzzGitHub(f *testing.F) {
	fuzz(f, "github", `[{"url":"https://github.com/a/b/issues/1","title":"x"}]`, "[")
}

func FuzzMarkdown(f *testing.F) {
	fuzz(f, "markdown", "- [ ] a\n  - [x] b\n- [ ] a\n- [ ] a 2\n- [ ] a", "```\n- [ ] é")
}
