package live

import (
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// Limits of open streams of one kind. Beyond them new ones are refused; an open one is
// never ended for another, which would only come back at once.
const (
	// StreamsPerPerson bounds what one person has open.
	StreamsPerPerson    = 32
	streamsPerWorkspace = streamsInAll / 2
	streamsInAll        = 2000
)

// askers returns whose quotas a stream counts for: the person and the workspace, whose part of the
// limits is that of one of so many servers, and the process.
func askers(who tenancy.Principal, servers int) []quota.Asker {
	return append(quota.Askers(who, quota.Shares{Asker: StreamsPerPerson, Workspace: streamsPerWorkspace}.Among(servers)),
		quota.Asker{ID: ids.Nil, Most: streamsInAll})
}
