package cli

import (
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A worker is known on its host by the directory of its state: named from where it starts, workers
// that start elsewhere would be taken for it.
func TestAWorkersStateIsNamedFromTheRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	c := factory{&cli{screen: screen{env: Env{Err: io.Discard, ConfigDir: t.TempDir(), Getenv: func(name string) string {
		return map[string]string{"FLEETBOARD_URL": "https://fleetboard.example", "FLEETBOARD_ENROLMENT_TOKEN": "fb_enrolment_x"}[name]
	}}}}}
	o, err := c.options(workerFlags{repos: ".", state: "state", name: "desk", engines: []string{"scripted"}, seats: 1, lease: time.Minute,
		beat: time.Second, retry: time.Minute, forgePoll: time.Minute, noTools: true})
	if err != nil || !filepath.IsAbs(o.State) || o.State != o.Repos.State {
		t.Errorf("the state is %q, %v", o.State, err)
	}
}

// A worker's table of models names engines that it has, tiers that there are, and models whose names
// cannot be anything else.
func TestAWorkersModelsAreRead(t *testing.T) {
	all, err := parseEngines([]string{"scripted", "claude"})
	if err != nil {
		t.Fatal(err)
	}
	table, err := parseTierModels([]string{"claude:large=opus", "claude:large=opusplan", "scripted:small=x"}, all)
	if want := []string{"claude:large=opusplan", "scripted:small=x"}; err != nil || !slices.Equal(table.Lines(), want) {
		t.Errorf("it is %v, %v", table.Lines(), err)
	}
	for _, line := range []string{"", "opus", "claude=opus", "claude:huge=opus", "claude:large=", "claude:large=-p", "claude:large=a b", "codex:large=gpt-5"} {
		if table, err := parseTierModels([]string{line}, all); err == nil {
			t.Errorf("%q is read as %v", line, table)
		}
	}
}

// `fleet product set --tier-model` changes what it names of a product's models.
func TestModelsOfAProductAreChanged(t *testing.T) {
	present := map[string]any{"claude": map[string]any{"small": "haiku", "large": "opus"}, "command": map[string]any{"large": "x"}}
	table, err := changeModels(present, []string{"claude:small=", "claude:large=sonnet[1m]", "codex:small=gpt-5-mini"})
	if want := []string{"claude:large=sonnet[1m]", "codex:small=gpt-5-mini", "command:large=x"}; err != nil || !slices.Equal(table.Lines(), want) {
		t.Errorf("they are %v, %v", table.Lines(), err)
	}
	if table, err := changeModels(nil, []string{"claude:large=opus"}); err != nil || len(table.Lines()) != 1 {
		t.Errorf("of a new product they are %v, %v", table, err)
	}
	if _, err := changeModels(present, []string{"claude:large=--resume"}); err == nil {
		t.Error("an option is a model")
	}
}
