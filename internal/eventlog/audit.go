package eventlog

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// AuditPlace is a place in the audit: before the event with that id at that
// time. The zero AuditPlace is before the newest one.
type AuditPlace struct {
	at time.Time
	id int64
}

// newest is later than every event.
var newest = AuditPlace{at: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), id: math.MaxInt64}

// String gives the place's form in URLs: "<microseconds>-<id>".
func (p AuditPlace) String() string { return fmt.Sprintf("%d-%d", p.at.UnixMicro(), p.id) }

// ParseAuditPlace reads a place; "" is the zero AuditPlace. Anything else that
// String would not give is Malformed.
func ParseAuditPlace(s string) (AuditPlace, error) {
	if s == "" {
		return AuditPlace{}, nil
	}
	left, right, ok := strings.Cut(s, "-")
	micros, errAt := strconv.ParseInt(left, 10, 64)
	id, errID := strconv.ParseInt(right, 10, 64)
	if !ok || errAt != nil || errID != nil || micros < 0 || micros > newest.at.UnixMicro() || id < 0 {
		return AuditPlace{}, fault.New(fault.Malformed, "The place in the audit is not one that this server gave out.")
	}
	return AuditPlace{at: time.UnixMicro(micros), id: id}, nil
}

// Audit returns what people did beside jobs: in settings, to members, tokens,
// products, factories and agents. Those before a place, the newest first, at
// most limit, and the place before the last of them; it is the zero AuditPlace
// after the first one. Of the filter, Types and Actor narrow it.
//
// Fault: Forbidden for those who do not manage the workspace.
func (l *Log) Audit(ctx context.Context, who tenancy.Principal, f Filter, before AuditPlace, limit int) ([]Event, AuditPlace, error) {
	if !who.Can(tenancy.Manage) {
		return nil, AuditPlace{}, fault.New(fault.Forbidden, "Only owners and admins read the audit.")
	}
	if before == (AuditPlace{}) {
		before = newest
	}
	var list []Event
	err := l.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = auditTx(ctx, tx, who.Workspace, f, before, limit+1)
		return err
	})
	if err != nil || len(list) <= limit {
		return list, AuditPlace{}, err
	}
	last := list[limit-1]
	return list[:limit], AuditPlace{at: last.At, id: last.ID}, nil
}
