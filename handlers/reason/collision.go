package reason

import (
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs/collisions"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// collisionIcon marks jobs that touch the same files.
const collisionIcon = "triangle-alert"

// namedCollisions is how many of the other jobs a card names, namedPaths how many paths the page of
// a job names of each.
const (
	namedCollisions = 2
	namedPaths      = 5
)

// Collision is "FB-137 touches internal/db/tx.go too, and 2 more files": the jobs that touch what one
// job touches; nil where there is none.
func Collision(list []collisions.Collision) *viewparts.Reason {
	if len(list) == 0 {
		return nil
	}
	var keys []string
	for _, c := range list[:min(len(list), namedCollisions)] {
		keys = append(keys, c.Job)
	}
	spans := KeyLinks(keys)
	if more := len(list) - len(keys); more > 0 {
		spans = append(spans, ui.T(web.Plural(more, "job", "jobs")+" more"))
	}
	verb := " touches "
	if len(list) > 1 {
		verb = " touch "
	}
	first := list[0]
	text := append(web.JoinSpans(spans), ui.T(verb), ui.Name(first.Paths[0]), ui.T(" too"))
	if more := len(first.Paths) + first.More - 1; len(list) == 1 && more > 0 {
		text = append(text, ui.T(", and "+web.Plural(more, "file", "files")+" more"))
	}
	return &viewparts.Reason{Icon: collisionIcon, Tone: ui.Warn, Text: text}
}

// CollisionLine is "FB-137, claude-1 · mac-1: internal/db/tx.go, go.mod and 3 more".
func CollisionLine(c collisions.Collision) ui.Sentence {
	text := web.JoinSpans(KeyLinks([]string{c.Job}))
	if c.Agent != "" {
		text = append(text, ui.T(", "), ui.Name(ui.AgentPlace(c.Agent, c.Factory)))
	}
	text = append(text, ui.T(": "))
	for i, path := range c.Paths[:min(len(c.Paths), namedPaths)] {
		if i > 0 {
			text = append(text, ui.T(", "))
		}
		text = append(text, ui.Name(path))
	}
	if more := len(c.Paths) - namedPaths + c.More; more > 0 {
		text = append(text, ui.T(" and "+web.Plural(more, "file", "files")+" more"))
	}
	return text
}
