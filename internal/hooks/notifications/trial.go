package notifications

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Test sends a message on every channel that a person has switched on, and returns how each did.
// Faults: Forbidden; Validation where no channel is on.
func (s *Service) Test(ctx context.Context, who tenancy.Principal) ([]ChannelState, error) {
	if err := requirePerson(who); err != nil {
		return nil, err
	}
	var to person
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		people, _, err := peopleTx(ctx, tx, who.Workspace)
		to = people[who.Account]
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(to.channels) == 0 {
		return nil, fault.Invalid("channels", "Switch on at least one channel, and save, before you send a test message.")
	}
	var list []ChannelState
	for _, c := range to.channels {
		now := time.Now()
		state := ChannelState{Channel: c}
		s.channels[c](ctx, []parcel{testParcel(s, who, to, c)}, func(_ parcel, err error) {
			if err == nil {
				state.SentAt = &now
				return
			}
			s.log.WarnContext(ctx, "a test message was not sent", "channel", c, "error", err)
			state.FailingSince, state.Error = &now, oneLine(explain(err), maxError)
		})
		list = append(list, state)
	}
	return list, nil
}

func testParcel(s *Service, who tenancy.Principal, to person, c Channel) parcel {
	i := item{message: message{Account: who.Account, Decision: "test:" + ids.New().String(), Channel: c},
		decision: decision{kind: Review, stamp: "test", title: "A test message of Fleetboard", detail: "Messages arrive here."},
		url:      s.link(settingsPath)}
	p := parcel{to: to, space: who.Workspace, items: []item{i}}
	p.id = p.name()
	return p
}
