package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fleetboard/db"
	"fleetboard/internal/batch"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/redact"
	"fleetboard/internal/tenancy"
)

const (
	// bridgePage is how many events become messages in one transaction.
	bridgePage = 200
	// bridgeScan is how many events one transaction looks at where routine is passed over.
	bridgeScan = 2000
	// bridgeSweep is how often all workspaces are looked at, not only those of which a
	// wake-up told.
	bridgeSweep = 30 * time.Second
	// bridgeKeeps is how long an inbox keeps what the server told.
	bridgeKeeps = 7 * 24 * time.Hour
	// maxSaid bounds a text of an event in its message, in characters.
	maxSaid = 700
)

// bridge knows in which workspaces something happened since they were looked at.
type bridge struct {
	mu      sync.Mutex
	changed map[ids.ID]bool
	swept   time.Time
}

// heard notes that something was appended to a workspace's log.
func (b *bridge) heard(topic string) {
	id, ok := ids.Parse(strings.TrimPrefix(topic, "event:"))
	b.mu.Lock()
	defer b.mu.Unlock()
	if !ok {
		b.swept = time.Time{} // something may have been missed
		return
	}
	if b.changed == nil {
		b.changed = map[ids.ID]bool{}
	}
	b.changed[id] = true
}

// take gives the workspaces to look at, and whether that is all of them.
func (b *bridge) take(now time.Time) (list []ids.ID, all bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.swept) >= bridgeSweep {
		b.swept, b.changed = now, nil
		return nil, true
	}
	for id := range b.changed {
		list = append(list, id)
	}
	b.changed = nil
	return list, false
}

// Bridge makes messages of what happened since the last call: of changes of jobs' statuses,
// reviews, questions and answers, and of agents that start and stop. Each event is told
// once. It returns how many messages it sent.
func (s *Service) Bridge(ctx context.Context) (total int, err error) {
	list, all := s.bridge.take(time.Now())
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
			s.bridge.heard("event:" + workspace.String())
		}
	}
	return total, err
}

// bridgeWorkspace works the log of a workspace off, page by page. What a transaction that
// still runs keeps back is looked for again at the next call.
func (s *Service) bridgeWorkspace(ctx context.Context, workspace ids.ID) (total int, err error) {
	held := false
	for more := true; more && ctx.Err() == nil; {
		p := &publishing{ctx: ctx, s: s, workspace: workspace}
		err = s.db.InWorkspaceByIndex(ctx, workspace, func(tx db.Tx) error {
			p.tx = tx
			var end eventlog.Cursor
			if end, more, err = p.bridge(); err != nil || more {
				return err
			}
			held, err = eventlog.HeldBackTx(ctx, tx, workspace, end)
			return err
		})
		if err != nil {
			return total, err
		}
		total += p.written
		if p.written > 0 {
			s.tell(workspace, p.inboxes)
		}
	}
	if held {
		s.bridge.heard("event:" + workspace.String())
	}
	return total, ctx.Err()
}

// bridge makes messages of one page of events, and gives the place after it; more is false
// at the log's end.
func (p *publishing) bridge() (end eventlog.Cursor, more bool, err error) {
	after, err := lockBridgeTx(p.ctx, p.tx, p.workspace)
	if err != nil {
		return after, false, err
	}
	lives, err := roleLivesTx(p.ctx, p.tx, p.workspace, tenancy.AgentOrchestrator)
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
	if err := p.tellAll(page.Events, lives); err != nil {
		return after, false, err
	}
	return page.End, page.More, saveBridgeTx(p.ctx, p.tx, p.workspace, page.End)
}

// tellAll sends the messages of events; lives says whether an orchestrator hears them.
func (p *publishing) tellAll(events []eventlog.Event, lives bool) error {
	list, err := told(p.ctx, p.tx, p.workspace, events, lives)
	if err != nil || len(list) == 0 {
		return err
	}
	call := batch.NewItem[sending, []Sent](p.ctx, sending{who: tenancy.System(p.workspace, "fleetboard"), list: list, drop: true,
		silent: map[Kind]bool{ToRole: !lives}})
	return cmp.Or(p.run(call), call.Err)
}

// messageTypes are the events that are told, and as what.
var messageTypes = map[eventlog.Type]string{
	eventlog.JobClaimed: TaskClaim, eventlog.JobCompleted: TaskDone, eventlog.JobHandedIn: ReviewRequest,
	eventlog.JobAttemptFailed: TaskFailed, eventlog.JobFailed: TaskFailed, eventlog.JobAsked: TaskBlocked, eventlog.JobBlocked: TaskBlocked,
	eventlog.JobApproved: ReviewResult, eventlog.JobRejected: ReviewResult,
	eventlog.AgentRegistered: AgentStarted, eventlog.AgentTerminated: AgentStopped, eventlog.AgentDied: AgentStopped,
}

// forPeople are told to a person who submitted the job; of the rest people see the board.
var forPeople = map[string]bool{ReviewRequest: true, TaskFailed: true, TaskBlocked: true}

// isRoutine reports whether an event says nothing that belongs to the thread of a job: who
// took it, that it is done, its other steps, and agents that come and go.
func isRoutine(kind string, e eventlog.Event) bool {
	switch kind {
	case TaskClaim, TaskDone, AgentStarted, AgentStopped:
		return true
	case StateChange:
		return !slices.ContainsFunc(e.Changes, func(c eventlog.Change) bool { return texts[c.Field] })
	}
	return false
}

// routineEvents are the types of events that are routine whatever they say. Most events of a
// job are of these types: they are not even read where nobody hears them.
var routineEvents = []string{
	string(eventlog.JobCreated), string(eventlog.JobPromoted), string(eventlog.JobHeld), string(eventlog.JobClaimed),
	string(eventlog.JobStarted), string(eventlog.JobProgressed), string(eventlog.JobCompleted),
}

// texts are the fields whose new value a message has.
var texts = map[string]bool{"question": true, "answer": true, "feedback": true, "last_error": true}

// told are the messages of events. Where no orchestrator lives, what is routine is told to
// agents that submitted the job and to nobody else: the log has it.
func told(ctx context.Context, tx db.Tx, workspace ids.ID, events []eventlog.Event, orchestrated bool) ([]Draft, error) {
	var jobs []ids.ID
	for _, e := range events {
		if e.JobID != nil {
			jobs = append(jobs, *e.JobID)
		}
	}
	submitters, err := submittersTx(ctx, tx, workspace, jobs)
	if err != nil {
		return nil, err
	}
	long, err := longTexts(ctx, tx, workspace, events)
	if err != nil {
		return nil, err
	}
	expires := time.Now().Add(bridgeKeeps)
	var list []Draft
	for _, e := range events {
		kind := kindOf(e)
		if kind == "" || e.JobID != nil && e.JobKey == "" { // nothing to tell, or the job is gone
			continue
		}
		to := Address{Kind: ToRole, Name: tenancy.AgentOrchestrator}
		if e.JobID != nil {
			to = addresseeOf(submitters[*e.JobID], kind)
		}
		if to.Kind == ToRole && !orchestrated && isRoutine(kind, e) {
			continue
		}
		said, err := sayEvent(e, long)
		if err != nil {
			return nil, err
		}
		list = append(list, Draft{ID: ids.New(), Type: kind, To: to, Job: e.JobKey, Payload: said, ExpiresAt: &expires})
	}
	return list, nil
}

// addresseeOf is who hears of a job: the one who submitted it, else the orchestrators.
func addresseeOf(by tenancy.Actor, kind string) Address {
	switch {
	case by.Kind == tenancy.KindAgent:
		return Address{Kind: ToAgent, Name: by.Name}
	case by.Kind == tenancy.KindPerson && forPeople[kind]:
		return Address{Kind: ToPerson, Name: by.ID}
	}
	return Address{Kind: ToRole, Name: tenancy.AgentOrchestrator}
}

// kindOf is the type of an event's message, "" where it is not told.
func kindOf(e eventlog.Event) string {
	if kind, ok := messageTypes[e.Type]; ok {
		return kind
	}
	if e.JobID == nil {
		return ""
	}
	for _, c := range e.Changes {
		if c.Field == "status" || c.Field == "answer" {
			return StateChange
		}
	}
	return ""
}

// sayEvent is the payload of an event's message: which event, whose, and what of it others
// need. Long texts are cut; the log has them.
func sayEvent(e eventlog.Event, long map[string]json.RawMessage) (json.RawMessage, error) {
	said := map[string]any{"event": e.Type, "event_id": e.Cursor.String(), "actor": e.Actor.Name}
	var facts map[string]any
	if json.Unmarshal(e.Payload, &facts) == nil {
		for _, name := range []string{"reason", "error", "commit", "url", "agent", "factory", "head"} {
			if text, ok := facts[name].(string); ok && text != "" {
				said[name] = redact.Cut(text, maxSaid)
			}
		}
	}
	for _, c := range e.Changes {
		switch {
		case c.Field == "status":
			said["from"], said["to"] = c.Old, c.New
		case texts[c.Field]:
			text, _ := c.New.(string)
			if body, kept := long[c.NewSHA256]; kept && json.Unmarshal(body, &text) != nil {
				text = ""
			}
			if text != "" {
				said[c.Field] = redact.Cut(text, maxSaid)
			}
		}
	}
	return json.Marshal(said)
}

// longTexts are the texts that do not stand in the events themselves, by their SHA-256.
func longTexts(ctx context.Context, tx db.Tx, workspace ids.ID, events []eventlog.Event) (map[string]json.RawMessage, error) {
	var sums []string
	for _, e := range events {
		for _, c := range e.Changes {
			if c.NewSHA256 != "" && texts[c.Field] {
				sums = append(sums, c.NewSHA256)
			}
		}
	}
	return eventlog.ContentsTx(ctx, tx, workspace, sums)
}
