package offer

import (
	"strings"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Topics is the prefix of the topics on which factories hear that they are offered jobs.
const Topics = "offer:"

// Topic is published when a factory is offered a job.
func Topic(workspace, factory ids.ID) string {
	return Topics + workspace.String() + ":" + factory.String()
}

// ParseTopic reads what Topic has written.
func ParseTopic(topic string) (workspace, factory ids.ID, ok bool) {
	first, second, _ := strings.Cut(strings.TrimPrefix(topic, Topics), ":")
	workspace, okWorkspace := ids.Parse(first)
	factory, okFactory := ids.Parse(second)
	return workspace, factory, okWorkspace && okFactory
}
