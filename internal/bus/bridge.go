package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// bridgePage is how many events become messages in one transaction.
	bridgePage = 200
	// bridgeScan is how many events one transaction reads where routine events are passed over.
	bridgeScan = 2000
	// noticeLife is how long an inbox keeps a message of the server.
	noticeLife = 7 * 24 * time.Hour
	// maxNoticeText bounds each text of a notice, in characters.
	maxNoticeText = 700
)

// Bridge sends the events since the last call as messages: changes of jobs' statuses, reviews,
// questions and answers, and agents that start and stop. Each event is sent once. It returns
// how many messages it sent.
func (s *Service) Bridge(ctx context.Context) (total int, err error) {
	list, all := s.logs.Take(time.Now())
	if all {
		if list, err = workspaces(ctx, s.db); err != nil {
			return 0, err
		}
	}
	for _, workspace := range list {
		n, failed := s.bridgeWorkspace(ctx, workspace)
		total += n
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("bridge of %s: %w", workspace, failed))
			s.logs.Note(eventlog.Topic(workspace))
		}
	}
	return total, err
}

// bridgeWorkspace sends the events of a workspace, page by page. Events that a running transaction
// holds back are read by the next call.
func (s *Service) bridgeWorkspace(ctx context.Context, workspace ids.ID) (total int, err error) {
	held := false
	for more := true; more && ctx.Err() == nil; {
		p := &publishing{ctx: ctx, s: s, workspace: workspace}
		err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			p.tx = tx
			var end eventlog.Cursor
			if end, more, err = p.bridgeEvents(); err != nil || more {
				return err
			}
			held, err = eventlog.HeldBackTx(ctx, tx, workspace, end)
			return err
		}, db.ByIndex)
		if err != nil {
			return total, err
		}
		total += p.written
		if p.written > 0 {
			s.notifyReaders(workspace, p.inboxes)
		}
	}
	if held {
		s.logs.Note(eventlog.Topic(workspace))
	}
	return total, ctx.Err()
}

// bridgeEvents makes messages of one page of events, and gives the place after it; more is false
// at the log's end.
func (p *publishing) bridgeEvents() (end eventlog.Cursor, more bool, err error) {
	after, err := lockBridgeTx(p.ctx, p.tx, p.workspace)
	if err != nil {
		return after, false, err
	}
	lives, err := q.RoleLives(p.ctx, p.tx, p.workspace, tenancy.AgentOrchestrator)
	if err != nil {
		return after, false, err
	}
	passedOver, scan := routineEvents, bridgeScan
	if lives {
		passedOver, scan = []string{}, bridgePage
	}
	page, err := eventlog.TailUnusualTx(p.ctx, p.tx, p.workspace, after, passedOver, scan, bridgePage)
	if err != nil || page.End == after {
		return after, false, err
	}
	if err := p.sendNotices(page.Events, lives); err != nil {
		return after, false, err
	}
	return page.End, page.More, saveBridgeTx(p.ctx, p.tx, p.workspace, page.End)
}

// sendNotices sends the messages of events; lives says whether an orchestrator reads them.
func (p *publishing) sendNotices(events []eventlog.Event, lives bool) error {
	list, err := draftNotices(p.ctx, p.tx, p.workspace, events, lives)
	if err != nil || len(list) == 0 {
		return err
	}
	call := batch.NewItem[sending, []Sent](p.ctx, sending{who: tenancy.System(p.workspace, "fleetboard"), list: list, drop: true,
		unheard: map[Kind]bool{ToRole: !lives}})
	return cmp.Or(p.run(call), call.Err)
}
