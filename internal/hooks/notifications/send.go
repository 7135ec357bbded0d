package notifications

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/status"
)

const (
	// takeAtOnce is how many messages one process takes, for takeFor; each is sent within sendTimeout.
	takeAtOnce  = 200
	takeFor     = 2 * time.Minute
	sendTimeout = 15 * time.Second
	// senders is how many messages are sent at once.
	senders = 8
	// maxTries is how often a message is tried, the last time a day after the first.
	maxTries = 10
	maxError = 200 // characters
)

// parcel is what one person is told on one channel at one time: a message, or a digest of several.
type parcel struct {
	id     string // the same where it is sent again
	to     person
	space  ids.ID
	items  []item
	thread string // id of the message that this one updates, "" for none
}

// item is one decision of a parcel.
type item struct {
	message
	tries    int
	decision decision
	closed   bool
	outcome  string
	url      string
	openedAt time.Time
	fromID   *ids.ID
	from     string // who did not decide in time, "" where nobody was to
	thread   string
}

// stamp is what is sent.
func (i item) stamp() string {
	if i.closed {
		return closedStamp
	}
	return i.decision.stamp
}

// sender sends parcels of one channel, each by itself, and reports each by done.
type sender func(ctx context.Context, list []parcel, done func(parcel, error))

// Send sends the messages that are due, and returns how many.
func (s *Service) Send(ctx context.Context) (total int, err error) {
	var list []ids.ID
	err = s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		list, err = q.NotificationDueWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("workspaces with messages that are due: %w", err)
	}
	for _, workspace := range list {
		n, failed := s.sendWorkspace(ctx, workspace)
		total += n
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("messages of %s: %w", workspace, failed))
		}
	}
	return total, err
}

func (s *Service) sendWorkspace(ctx context.Context, workspace ids.ID) (n int, err error) {
	var list []parcel
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		list, err = s.takeTx(ctx, tx, workspace)
		return err
	})
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var failed []error
	done := func(p parcel, sendErr error) {
		noteErr := s.note(ctx, p, sendErr)
		mu.Lock()
		defer mu.Unlock()
		if n++; noteErr != nil {
			failed = append(failed, noteErr)
		}
	}
	var all sync.WaitGroup
	for _, c := range Channels {
		var of []parcel
		for _, p := range list {
			if p.items[0].Channel == c {
				of = append(of, p)
			}
		}
		if len(of) > 0 {
			all.Go(func() { s.channels[c](ctx, of, done) })
		}
	}
	all.Wait()
	return n, errors.Join(failed...)
}

// takeTx takes what is due, and makes parcels of it.
func (s *Service) takeTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]parcel, error) {
	rows, err := q.NotificationTake(ctx, tx, int(takeFor.Seconds()), workspace, takeAtOnce)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	people, _, err := peopleTx(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	versions, err := versionsTx(ctx, tx, workspace, rows)
	if err != nil {
		return nil, err
	}
	groups := map[string][]item{}
	for _, r := range rows {
		i := toItem(r)
		to := people[r.AccountID]
		if !slices.Contains(to.channels, i.Channel) || !to.may(i.decision.kind) {
			if err := forgetTx(ctx, tx, workspace, i, nil); err != nil {
				return nil, err
			}
			continue
		}
		i.url = s.link(i.decision.path)
		if v, known := versions[deref(r.JobID)]; known && i.decision.kind == Review && v.Status == string(status.InReview) {
			i.url += "&version=" + fmt.Sprint(v.Version)
			if v.Head != "" {
				i.url += "&head=" + escape(v.Head)
			}
		}
		if i.fromID != nil {
			i.from = cmp.Or(people[*i.fromID].name, "somebody")
		}
		k := r.AccountID.String() + " " + r.Channel
		if i.closed && i.Channel == Browser {
			k += " " + i.Decision // each replaces its own
		}
		groups[k] = append(groups[k], i)
	}
	var list []parcel
	for _, items := range groups {
		slices.SortFunc(items, func(a, b item) int {
			return cmp.Or(a.openedAt.Compare(b.openedAt), cmp.Compare(a.Decision, b.Decision))
		})
		p := parcel{to: people[items[0].Account], space: workspace, items: items}
		p.id = p.name()
		if len(items) == 1 {
			p.thread = items[0].thread
		}
		list = append(list, p)
	}
	return list, nil
}

func deref(id *ids.ID) ids.ID {
	if id == nil {
		return ids.Nil
	}
	return *id
}

func versionsTx(ctx context.Context, tx db.Tx, workspace ids.ID, rows []dbsqlc.NotificationTakeRow) (map[ids.ID]dbsqlc.NotificationVersionsRow, error) {
	var jobs []ids.ID
	for _, r := range rows {
		if r.JobID != nil && Kind(r.Kind) == Review {
			jobs = append(jobs, *r.JobID)
		}
	}
	found, err := q.NotificationVersions(ctx, tx, workspace, jobs)
	versions := make(map[ids.ID]dbsqlc.NotificationVersionsRow, len(found))
	for _, v := range found {
		versions[v.ID] = v
	}
	return versions, err
}

func toItem(r dbsqlc.NotificationTakeRow) item {
	return item{message: message{Account: r.AccountID, Decision: r.Decision, Channel: Channel(r.Channel), DueAt: r.DueAt, sent: r.SentStamp},
		tries:    r.Tries,
		decision: decision{id: r.Decision, kind: Kind(r.Kind), job: r.JobID, stamp: r.Stamp, title: r.Title, detail: r.Detail, path: r.Path},
		closed:   r.Closed, outcome: r.Outcome, openedAt: r.OpenedAt, fromID: r.EscalatedFrom, thread: r.MessageID}
}

// name identifies a parcel by all that is in it: one that is sent again has the same name.
func (p parcel) name() string {
	h := sha256.New()
	for _, i := range p.items {
		fmt.Fprintf(h, "%s %s %s %s %s\n", p.space, i.Account, i.Channel, i.Decision, i.stamp())
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// note writes down that a parcel was sent, or why it was not and when it is tried again. It does so
// also where ctx has ended: what was sent is not to be sent again.
func (s *Service) note(ctx context.Context, p parcel, sendErr error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if sendErr != nil {
		s.log.WarnContext(ctx, "a notification was not sent", "channel", p.items[0].Channel, "tries", p.items[0].tries, "error", sendErr)
	}
	return s.db.In(ctx, db.Workspace(p.space), func(tx db.Tx) error {
		for _, i := range p.items {
			var err error
			if sendErr == nil {
				stamp := i.stamp()
				err = q.NotificationSent(ctx, tx, dbsqlc.NotificationSentParams{SentStamp: &stamp, MessageID: cmp.Or(i.thread, p.id), DueAt: i.DueAt,
					WorkspaceID: p.space, AccountID: i.Account, Decision: i.Decision, Channel: string(i.Channel)})
			} else {
				err = forgetTx(ctx, tx, p.space, i, again(time.Now(), i.tries, sendErr))
			}
			if err != nil {
				return err
			}
		}
		if sendErr != nil {
			return q.NotificationChannelFailed(ctx, tx, p.space, p.to.account, string(p.items[0].Channel), oneLine(explain(sendErr), maxError))
		}
		return q.NotificationChannelSent(ctx, tx, p.space, p.to.account, string(p.items[0].Channel))
	})
}

// forgetTx has a message sent at another time, or never.
func forgetTx(ctx context.Context, tx db.Tx, workspace ids.ID, i item, due *time.Time) error {
	return q.NotificationFailed(ctx, tx, dbsqlc.NotificationFailedParams{WasDue: i.DueAt, DueAt: due, WorkspaceID: workspace,
		AccountID: i.Account, Decision: i.Decision, Channel: string(i.Channel)})
}
