package eventlog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Cursor is a place in the log: after the event with that id of that
// transaction. The zero Cursor is before the first event.
type Cursor struct {
	xid uint64
	id  int64
}

// String gives the cursor's form in URLs and in Last-Event-ID: "<xid>-<id>".
func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.xid, c.id) }

// ParseCursor reads a cursor; "" is the zero Cursor. Anything else that String
// would not give is Malformed.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	left, right, ok := strings.Cut(s, "-")
	xid, errXID := strconv.ParseUint(left, 10, 63)
	id, errID := strconv.ParseInt(right, 10, 64)
	if !ok || errXID != nil || errID != nil || id < 0 {
		return Cursor{}, fault.New(fault.Malformed, "The place in the log is not one that this server gave out.")
	}
	return Cursor{xid: xid, id: id}, nil
}

// Before reports whether c comes earlier in the log than other.
func (c Cursor) Before(other Cursor) bool {
	return c.xid < other.xid || c.xid == other.xid && c.id < other.id
}

// Beside reports whether the events of two cursors are of one transaction.
func (c Cursor) Beside(other Cursor) bool { return c.xid == other.xid }

// Topics is the beginning of the topics of all workspaces.
const Topics = "event:"

// Topic is published when something was appended to a workspace's log.
func Topic(workspace ids.ID) string { return Topics + workspace.String() }
