package views

import (
	"github.com/a-h/templ"

	"fleetboard/views/ui"
)

// live are the columns of jobs that go on.
func (b Board) live() []Column {
	var out []Column
	for _, c := range b.Columns {
		if !c.Rows() {
			out = append(out, c)
		}
	}
	return out
}

// finished are Failed, then Done: the style sheet turns them round where there
// is room for six columns.
func (b Board) finished() []Column {
	var done, failed []Column
	for _, c := range b.Columns {
		switch c.Name {
		case "failed":
			failed = append(failed, c)
		case "done":
			done = append(done, c)
		}
	}
	return append(failed, done...)
}

func currentTrue(yes bool) templ.Attributes {
	if yes {
		return templ.Attributes{"aria-current": "true"}
	}
	return nil
}

// lines are the commands that start a factory by hand.
func (f FirstRun) lines() []string {
	return []string{
		"export FLEETBOARD_URL=" + ui.Clean(f.Server),
		"export FLEETBOARD_ENROLMENT_TOKEN_FILE=" + ui.Clean(f.TokenFile),
		"export AGENT_NAME=agent-1 FACTORY_NAME=here",
		"export REPO_NAME=demo REPO_DIR=/path/to/demo",
		"examples/agent.sh",
	}
}
