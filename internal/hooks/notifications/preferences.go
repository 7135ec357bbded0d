package notifications

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/hooks/address"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func invalid(field, why string) error { return fault.Invalid(field, "%s", why) }

// requirePerson refuses whoever is no person: agents have messages of their own.
func requirePerson(who tenancy.Principal) error {
	if who.Kind != tenancy.KindPerson || !who.Can(tenancy.ReadBoard) {
		return fault.New(fault.Forbidden, "Notifications are for members of a workspace.")
	}
	return nil
}

// Get returns what a person wants to be told of; the default where nothing was saved. Forbidden.
func (s *Service) Get(ctx context.Context, who tenancy.Principal) (set Settings, err error) {
	if err := requirePerson(who); err != nil {
		return set, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		set, _, err = s.settingsTx(ctx, tx, who)
		return err
	})
	return set, err
}

// Member is whom a person can hand on to.
type Member struct {
	ID          ids.ID
	Name, Email string
}

// Save changes what the change names, and returns all. Faults: Forbidden; Validation by field.
func (s *Service) Save(ctx context.Context, who tenancy.Principal, c Change) (after Settings, err error) {
	if err := requirePerson(who); err != nil {
		return after, err
	}
	wrong := "" // with the address of the webhook; its name is looked up before anything is locked
	if c.WebhookURL != nil && *c.WebhookURL != "" {
		wrong = address.CheckWebhook(ctx, s.guard, *c.WebhookURL)
	}
	changed := false
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := q.NamedLock(ctx, tx, "notifications:"+who.Workspace.String()); err != nil {
			return err
		}
		before, members, err := s.settingsTx(ctx, tx, who)
		if err != nil {
			return err
		}
		after = c.apply(before)
		meant, err := after.check(who, members, wrong)
		if err != nil {
			return err
		}
		facts := after.changes(before)
		if changed = len(facts) > 0; !changed {
			return nil
		}
		if err := s.saveSettingTx(ctx, tx, who, after, meant); err != nil {
			return err
		}
		if err := eventlog.RecordTx(ctx, tx, who, eventlog.NotificationsChanged, nil, facts...); err != nil {
			return err
		}
		after, _, err = s.settingsTx(ctx, tx, who)
		return err
	})
	if err != nil {
		return Settings{}, err
	}
	if changed {
		s.wake.Publish(eventlog.Topic(who.Workspace))
	}
	return after, nil
}

// meaning is what the texts of settings mean: the minutes of a day at which quiet hours begin and end,
// and who is told next; nil for none.
type meaning struct {
	from, to *int
	next     *ids.ID
}

// check returns what settings mean, or what is wrong with them; wrongAddress is what is with the address of
// the webhook.
func (s Settings) check(who tenancy.Principal, members []Member, wrongAddress string) (m meaning, err error) {
	p := fault.Problems{}
	s.checkQuiet(p, &m)
	p.Number("digest_minutes", s.DigestMinutes, 0, MaxDigestMinutes)
	p.Number("escalate.minutes", s.Escalate.Minutes, 0, MaxEscalateMinutes)
	s.checkNext(p, who, members, &m)
	switch {
	case wrongAddress != "":
		p.Add("webhook_url", "%s", wrongAddress)
	case s.WebhookURL == "" && s.Channels.Webhook:
		p.Add("webhook_url", "It must be the address of your webhook, since that is switched on.")
	}
	return m, p.Err()
}

func (s Settings) checkQuiet(p fault.Problems, m *meaning) {
	h := s.QuietHours
	if _, err := time.LoadLocation(h.Timezone); err != nil || h.Timezone == "Local" || len(h.Timezone) > 64 {
		p.Add("quiet_hours.timezone", "It must be the name of a time zone like Europe/Berlin.")
	}
	if h.From == "" && h.To == "" {
		return
	}
	from, ok := parseClock(h.From)
	if !ok {
		p.Add("quiet_hours.from", "It must be a time of day like 22:00.")
	}
	to, fine := parseClock(h.To)
	if !fine {
		p.Add("quiet_hours.to", "It must be a time of day like 07:00.")
	}
	if ok && fine && from == to {
		p.Add("quiet_hours.to", "It must be another time than the beginning.")
	}
	m.from, m.to = &from, &to
}

func (s Settings) checkNext(p fault.Problems, who tenancy.Principal, members []Member, m *meaning) {
	to := strings.ToLower(strings.TrimSpace(s.Escalate.To))
	switch {
	case to == "" && s.Escalate.Minutes != 0:
		p.Add("escalate.to", "It must be the e-mail address of another member.")
	case to == "":
	case s.Escalate.Minutes == 0:
		p.Add("escalate.minutes", "It must be at least 1 where somebody is named.")
	default:
		for _, one := range members {
			if one.Email == to && one.ID != who.Account {
				m.next = &one.ID
				return
			}
		}
		p.Add("escalate.to", "It must be the e-mail address of another member of the workspace.")
	}
}

// changes lists what differs; of a webhook only where it leads.
func (s Settings) changes(before Settings) (list []eventlog.Change) {
	add := func(field string, old, now any) {
		a, _ := json.Marshal(old)
		if b, _ := json.Marshal(now); string(a) != string(b) {
			list = append(list, eventlog.Change{Field: field, Old: old, New: now})
		}
	}
	add("channels", strings.Join(texts(before.Channels.list()), ", "), strings.Join(texts(s.Channels.list()), ", "))
	add("on", strings.Join(texts(before.On.list()), ", "), strings.Join(texts(s.On.list()), ", "))
	add("quiet_hours", before.QuietHours.words(), s.QuietHours.words())
	add("digest_minutes", before.DigestMinutes, s.DigestMinutes)
	add("escalate_minutes", before.Escalate.Minutes, s.Escalate.Minutes)
	add("escalate_to", before.Escalate.To, s.Escalate.To)
	if before.WebhookURL != s.WebhookURL {
		list = append(list, eventlog.Change{Field: "webhook", Old: shown(before.WebhookURL), New: shown(s.WebhookURL)})
	}
	return list
}

func (q Quiet) words() string {
	if q.From == "" {
		return q.Timezone
	}
	return q.From + " to " + q.To + " " + q.Timezone
}

// shown returns of an address what everybody may see: where it leads, and no path, which is often a secret.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// ChannelState is how a channel of a person does.
type ChannelState struct {
	Channel      Channel
	SentAt       *time.Time
	FailingSince *time.Time
	Error        string
}

// BrowserState is a browser of a person.
type BrowserState struct {
	ID       ids.ID
	Name     string
	Since    time.Time
	Outdated bool // it takes messages of an earlier key of the server only
}

// Overview is all that a person's page shows.
type Overview struct {
	Settings Settings
	Members  []Member // others, to whom one can hand on
	Channels []ChannelState
	Browsers []BrowserState
	// PushKey is what a browser subscribes with.
	PushKey string
	// Mail says whether the server sends e-mail.
	Mail bool
}

// Overview returns all that a person's page shows. Forbidden.
func (s *Service) Overview(ctx context.Context, who tenancy.Principal) (o Overview, err error) {
	if err := requirePerson(who); err != nil {
		return o, err
	}
	o.PushKey, o.Mail = s.pusher.keys.public, s.mail != nil
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		var members []Member
		if o.Settings, members, err = s.settingsTx(ctx, tx, who); err != nil {
			return err
		}
		for _, m := range members {
			if m.ID != who.Account {
				o.Members = append(o.Members, m)
			}
		}
		if o.Channels, err = channelsTx(ctx, tx, who); err != nil {
			return err
		}
		o.Browsers, err = s.browserStatesTx(ctx, tx, who)
		return err
	})
	return o, err
}
