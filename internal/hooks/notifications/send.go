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

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// takeAtOnce is how many messages one process takes, for takeFor; each is sent within sendTimeout.
	takeAtOnce  = 200
	takeFor     = 2 * time.Minute
	sendTimeout = 15 * time.Second
	// senders is how many messages of a workspace are sent at once on a channel, workspacesAtOnce how many
	// workspaces are looked after at once.
	senders          = 8
	workspacesAtOnce = 32
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
	// Several at once: the slow receivers of one workspace hold up no other.
	var busy errgroup.Group
	busy.SetLimit(workspacesAtOnce)
	counts, faults := make([]int, len(list)), make([]error, len(list))
	for i, workspace := range list {
		busy.Go(func() error {
			if counts[i], faults[i] = s.sendWorkspace(ctx, workspace); faults[i] != nil {
				faults[i] = fmt.Errorf("messages of %s: %w", workspace, faults[i])
			}
			return nil
		})
	}
	_ = busy.Wait() // each has its own error
	for _, n := range counts {
		total += n
	}
	return total, errors.Join(faults...)
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
	due, err := dueTx(ctx, tx, workspace)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	people, _, err := peopleTx(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	heads, err := headsTx(ctx, tx, workspace, due)
	if err != nil {
		return nil, err
	}
	groups := map[string][]item{}
	for _, i := range due {
		to := people[i.Account]
		if !slices.Contains(to.channels, i.Channel) || !to.may(i.decision.kind) {
			if err := forgetTx(ctx, tx, workspace, i, nil); err != nil {
				return nil, err
			}
			continue
		}
		i.url = s.link(i.decision.path)
		if job := i.decision.job; job != nil && i.decision.kind == Review {
			i.url += heads[*job]
		}
		if i.fromID != nil {
			i.from = cmp.Or(people[*i.fromID].name, "somebody")
		}
		k := i.Account.String() + " " + string(i.Channel)
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
				err = sentTx(ctx, tx, p, i)
			} else {
				err = forgetTx(ctx, tx, p.space, i, again(time.Now(), i.tries, sendErr))
			}
			if err != nil {
				return err
			}
		}
		if sendErr != nil {
			return q.NotificationChannelFailed(ctx, tx, p.space, p.to.account, string(p.items[0].Channel),
				oneLine(explain(sendErr), maxError))
		}
		return q.NotificationChannelSent(ctx, tx, p.space, p.to.account, string(p.items[0].Channel))
	})
}
