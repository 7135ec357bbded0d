package job

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
)

// An attempt says which model ran it and who named that, as far as its agent said.
func TestTheModelOfAnAttempt(t *testing.T) {
	for want, a := range map[[2]string]attempts.Attempt{
		{"", ""}:                            {},
		{"registered", ""}:                  {Model: "registered"},
		{"opus", "claude, product: large"}:  {Model: "opus", Engine: "claude", ModelWhy: attempts.NamedByProduct, Tier: "large"},
		{"opus", "claude, worker"}:          {Model: "opus", Engine: "claude", ModelWhy: attempts.NamedByWorker},
		{"sonnet", "claude, default"}:       {Model: "sonnet", Engine: "claude", ModelWhy: attempts.ByDefault, Tier: "small"},
		{"its own model", "codex, default"}: {Engine: "codex", ModelWhy: attempts.ByDefault},
	} {
		if model, why := modelWords(a); model != want[0] || why != want[1] {
			t.Errorf("%+v: %q, %q; want %q", a, model, why, want)
		}
	}
}
