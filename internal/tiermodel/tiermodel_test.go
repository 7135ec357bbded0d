package tiermodel_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// What vendors, clouds and gateways call models is a name, and nothing that a program could take
// for an option, a path of its own or a part of a command.
func TestOnlyNamesOfModelsPass(t *testing.T) {
	for _, name := range []string{"opus", "sonnet[1m]", "claude-opus-4-5@20251101", "gpt-5.1-codex", "openrouter/meta/llama-4:free",
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "o4", strings.Repeat("m", 64)} {
		if wrong := (tiermodel.Table{"claude": {"large": name}}).Problems("models"); len(wrong) != 0 {
			t.Errorf("%s is refused: %v", name, wrong)
		}
		if got := (tiermodel.Table{"claude": {"large": name}}).Find("claude", "large"); got != name {
			t.Errorf("%s is found as %q", name, got)
		}
	}
	for _, name := range []string{"", "-", "--dangerously-skip-permissions", "-c", " opus", "opus ", "op us", "opus\n", "opus\x00", "opus\x1b[31m",
		"$(id)", "`id`", "a;b", "a|b", "a&b", "a>b", "a'b", `a"b`, `a\b`, "a=b", "/etc/passwd", "../x", "modèle", "a\u202eb", "é",
		"\xff", strings.Repeat("m", 65)} {
		table := tiermodel.Table{"claude": {"large": name}}
		if wrong := table.Problems("models"); wrong["models.claude.large"] == "" {
			t.Errorf("%q passes: %v", name, wrong)
		}
		if got := table.Find("claude", "large"); got != "" {
			t.Errorf("%q is found as %q", name, got)
		}
	}
}

func TestOnlyEnginesAndTiersPass(t *testing.T) {
	for at, table := range map[string]tiermodel.Table{
		"models":        {"Claude": {"large": "opus"}},
		"models.claude": {"claude": {"huge": "opus"}},
	} {
		if wrong := table.Problems("models"); len(wrong) != 1 || wrong[at] == "" {
			t.Errorf("%v: %v", table, wrong)
		}
	}
	for _, engine := range []string{"", "-x", "a b", "a.b", "a/b", strings.Repeat("a", 33)} {
		if wrong := (tiermodel.Table{engine: {"large": "opus"}}).Problems("models"); wrong["models"] == "" {
			t.Errorf("%q passes", engine)
		}
	}
	many := tiermodel.Table{}
	for i := range tiermodel.MaxEngines + 1 {
		many[strings.Repeat("a", i+1)] = map[string]string{"large": "opus"}
	}
	if wrong := many.Problems("models"); wrong["models"] == "" {
		t.Errorf("%d engines pass", len(many))
	}
}

// A table and its lines are the same.
func TestLines(t *testing.T) {
	table := tiermodel.Table{}
	for _, line := range []string{"codex:small=gpt-5-mini", "claude:large=opus", "claude:small=haiku", "claude:small=", "claude:large=sonnet"} {
		engine, tier, model, err := tiermodel.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		table.Set(engine, tier, model)
	}
	if got, want := table.Lines(), []string{"claude:large=sonnet", "codex:small=gpt-5-mini"}; !slices.Equal(got, want) {
		t.Errorf("it is %v", got)
	}
	table.Set("claude", "large", "")
	if _, left := table["claude"]; left {
		t.Errorf("claude is left: %v", table)
	}
	if !table.Equal(tiermodel.Table{"codex": {"small": "gpt-5-mini"}, "claude": {}}) {
		t.Errorf("it is %v", table)
	}
	if c := (tiermodel.Table{"claude": {}}).Clone(); c == nil || len(c) != 0 {
		t.Errorf("the copy is %v", c)
	}
	for _, line := range []string{"", "claude", "claude=opus", "claude:large", "claude:huge=opus", ":large=opus", "claude:large=-p", "claude:large=a b"} {
		if _, _, _, err := tiermodel.ParseLine(line); err == nil {
			t.Errorf("%q passes", line)
		}
	}
	if got := (tiermodel.Table{"claude": {"large": "b", "small": "a"}, "codex": {"large": "c"}}).Models([]string{"claude", "x"}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the models are %v", got)
	}
}
