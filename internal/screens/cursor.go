package screens

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// cursor is a place in a column: after the job with that priority, time and id; of ready jobs with
// that tie-break instead of the id.
type cursor struct {
	priority int
	at       time.Time
	id       ids.ID
	tieBreak []byte
	start    bool
}

func makeCursor(j jobs.Job) string {
	return fmt.Sprintf("%d.%d.%s", j.Priority, j.StatusAt.UnixMicro(), j.ID)
}

// lastMicro is the latest time of a cursor, the end of the year 9999 or so, in
// microseconds: PostgreSQL knows no time far beyond it.
const lastMicro = 253_000_000_000_000_000

func parseCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{priority: 11, tieBreak: []byte{}, start: true}, nil
	}
	var c cursor
	var micros int64
	var id string
	parts := strings.SplitN(s, ".", 4)
	_, err := fmt.Sscanf(strings.Join(parts[:min(len(parts), 3)], " "), "%d %d %s", &c.priority, &micros, &id)
	if c.tieBreak = []byte{}; err == nil && len(parts) == 4 {
		c.tieBreak, err = hex.DecodeString(parts[3])
	}
	parsed, ok := ids.Parse(id)
	if err != nil || !ok || c.priority < 0 || c.priority > 11 || micros < 0 || micros > lastMicro {
		return c, fault.New(fault.Malformed, "The place in the column is not one that this server gave out.")
	}
	c.at, c.id = time.UnixMicro(micros), parsed
	return c, nil
}

// before and beforeID are the place for columns that run backwards in time.
func (c cursor) before() time.Time {
	if c.start {
		return time.Now().AddDate(100, 0, 0)
	}
	return c.at
}

func (c cursor) beforeID() ids.ID { return c.id }
