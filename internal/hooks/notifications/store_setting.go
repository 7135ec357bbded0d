package notifications

import (
	"context"
	"encoding/base64"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// settingsTx reads what a person wants to be told of, the default where nothing was saved, and the members.
func (s *Service) settingsTx(ctx context.Context, tx db.Tx, who tenancy.Principal) (set Settings, members []Member, err error) {
	if members, err = membersTx(ctx, tx, who.Workspace); err != nil {
		return set, nil, err
	}
	row, err := q.NotificationSetting(ctx, tx, who.Workspace, who.Account)
	set = Default()
	if found, err := db.Found(err); !found {
		return set, members, err
	}
	set = Settings{Channels: readVia(typed[Channel](row.Channels)), On: readOn(typed[Kind](row.Kinds)),
		QuietHours: Quiet{Timezone: row.Timezone}, DigestMinutes: row.DigestMinutes,
		WebhookURL: s.openHook(who.Workspace, who.Account, row.WebhookSealed)}
	if row.QuietFrom != nil && row.QuietTo != nil {
		set.QuietHours.From, set.QuietHours.To = clockText(*row.QuietFrom), clockText(*row.QuietTo)
	}
	for _, m := range members {
		if row.EscalateTo != nil && m.ID == *row.EscalateTo {
			set.Escalate = Escalation{row.EscalateMinutes, m.Email}
		}
	}
	if set.WebhookURL != "" {
		set.WebhookSecret = "whsec_" + base64.StdEncoding.EncodeToString(s.hookSecret(who.Workspace, who.Account, set.WebhookURL))
	}
	return set, members, nil
}

func membersTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Member, error) {
	rows, err := q.NotificationMembers(ctx, tx, workspace)
	return db.Map(rows, err, func(r dbsqlc.NotificationMembersRow) Member { return Member{r.AccountID, r.Name, r.Email} })
}

// saveSettingTx saves the settings of a person, and what they mean.
func (s *Service) saveSettingTx(ctx context.Context, tx db.Tx, who tenancy.Principal, set Settings, m meaning) error {
	row := dbsqlc.NotificationSettingSaveParams{WorkspaceID: who.Workspace, AccountID: who.Account, Channels: texts(set.Channels.list()),
		Kinds: texts(set.On.list()), QuietFrom: m.from, QuietTo: m.to, Timezone: set.QuietHours.Timezone,
		DigestMinutes: set.DigestMinutes, EscalateMinutes: set.Escalate.Minutes, EscalateTo: m.next}
	if set.WebhookURL != "" {
		row.WebhookShown = oneLine(shown(set.WebhookURL), 300)
		row.WebhookSealed = s.ring.Seal(hookPlace(who.Workspace, who.Account), []byte(set.WebhookURL))
	}
	return q.NotificationSettingSave(ctx, tx, row)
}

func channelsTx(ctx context.Context, tx db.Tx, who tenancy.Principal) ([]ChannelState, error) {
	rows, err := q.NotificationChannels(ctx, tx, who.Workspace, who.Account)
	return db.Map(rows, err, func(r dbsqlc.NotificationChannelsRow) ChannelState {
		return ChannelState{Channel(r.Channel), r.SentAt, r.FailingSince, r.Error}
	})
}
