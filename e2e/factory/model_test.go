package factory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// A job of each tier is run with the model that its product names, else the worker, else the
// worker's default: the program is started with it, and the attempt says which one and why.
func TestEachTierRunsItsModel(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.withClaude()
	program := filepath.Join(s.dir, "bin", "claude")
	notes := strings.Replace(fakeClaude, "cat > /dev/null\n", "cat > /dev/null\necho \"$FLEETBOARD_JOB $FLEETBOARD_MODEL $*\" >> \"$HOME/started\"\n", 1)
	if err := os.WriteFile(program, []byte(notes), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := s.person.PutProductWithResponse(t.Context(), "books", api.ProductSettings{Repos: &[]string{"ledger"},
		Models: api.ModelTable{"claude": {"large": "opus"}, "codex": {"small": "gpt-5-mini"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.worker("desk", "--engine", "claude", "--model", "sonnet", "--tier-model", "claude:large=opusplan", "--tier-model", "claude:small=haiku")
	for tier, want := range map[string]struct {
		model string
		why   api.ModelWhy
	}{"small": {"haiku", api.ModelWhyWorker}, "standard": {"sonnet", api.ModelWhyDefault}, "large": {"opus", api.ModelWhyProduct}} {
		key := s.submitAs(api.NewJob{Title: "Greet", Repo: new("ledger"), Tier: &tier, Capabilities: &api.CapabilityList{"engine:claude"}})
		s.untilStatus(key, api.JobStatusCompleted)
		started, err := os.ReadFile(filepath.Join(s.dir, "started"))
		if err != nil || !strings.Contains(string(started), key+" "+want.model+" ") || strings.Count(string(started), "--model="+want.model+" ") != 1 {
			t.Errorf("%s: the program was started as %s, %v", tier, started, err)
		}
		list, err := s.person.ListAttemptsWithResponse(t.Context(), key, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a := list.JSON200.Items[0]; a.Model != want.model || a.ModelWhy != want.why || a.Engine != "claude" || string(a.Tier) != tier {
			t.Errorf("%s: the attempt says %s %q for %s, for %q", tier, a.Engine, a.Model, a.Tier, a.ModelWhy)
		}
	}
}
