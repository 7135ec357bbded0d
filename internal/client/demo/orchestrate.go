package demo

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/examples"
	"github.com/fleetboard/fleetboard/internal/client/engines/process"
)

const (
	// conductor is the agent that splits plans.
	conductor = "conductor"
	// planEvery is how many stories come for each plan.
	planEvery = 5
)

// orchestrate runs examples/orchestrator.sh until ctx ends. On a host without its programs
// the demo goes on without plans.
func (d *demo) orchestrate(ctx context.Context) {
	for _, program := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			d.Log.Warn("no plans are made: " + err.Error())
			return
		}
	}
	script := filepath.Join(d.Dir, "orchestrator.sh")
	if err := os.WriteFile(script, examples.Orchestrator, 0o600); err != nil {
		d.Log.Warn("no plans are made: " + err.Error())
		return
	}
	d.plans.Store(true)
	end, err := process.Run(ctx, process.Spec{
		Argv: []string{"bash", script},
		Env: append(os.Environ(), "FLEETBOARD_URL="+d.Server, "FLEETBOARD_ENROLMENT_TOKEN="+d.Enrolment,
			"AGENT_NAME="+conductor, "FACTORY_NAME="+conductor),
		Grace: 5 * time.Second,
		Line:  func(process.Stream, []byte) {},
	})
	if ctx.Err() == nil {
		d.Log.Warn("the orchestrator ended", "err", err, "status", end.Status, "said", end.Tail)
	}
}

// plan submits a plan whose second part asks.
func (d *demo) plan(ctx context.Context) {
	part := func(title string, steps ...step) step {
		return step{"title": title, "repo": "notebook", "input_context": step{"script": step{"steps": steps}}}
	}
	write := func(line string) step {
		return step{"step": "writes", "sleep_ms": 500 + d.draw.IntN(1500), "run": "echo '* " + line + "' >> NOTES.md"}
	}
	input, err := json.Marshal(step{
		"answer": "Count each customer once, by the account.",
		"parts": []step{
			part("Count visits for the dashboard", write("visits")),
			part("Count customers for the dashboard", step{"ask": "A customer may have two accounts. Is that one or two?"},
				write("customers")),
			part("Draw the dashboard", write("dashboard")),
		},
	})
	if err != nil {
		return // texts and numbers only
	}
	kind, needs := "plan", api.CapabilityList{"plans"}
	if _, err := d.api.CreateJobWithResponse(ctx, nil, api.NewJob{Title: "A dashboard of visits and customers", Kind: &kind,
		Capabilities: &needs, InputContext: input}); err != nil && ctx.Err() == nil {
		d.Log.Warn("a plan was refused: " + err.Error())
	}
}
