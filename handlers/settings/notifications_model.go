package settings

import (
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/hooks/notifications"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// kindHelp says what each kind is.
var kindHelp = map[notifications.Kind]struct{ label, help string }{
	notifications.Review:    {"Reviews", "Work was handed in that a person is to approve."},
	notifications.Question:  {"Questions", "An agent asks, and waits for the answer."},
	notifications.Failed:    {"Failed jobs", "A job has failed for good."},
	notifications.Budget:    {"Budgets", "A hard budget is used up: its jobs wait."},
	notifications.AgentDead: {"Dead agents", "No heartbeat of an agent came in time."},
	notifications.Stopped:   {"Stops", "The fleet or a product is stopped."},
}

// commonZones are offered; any name of a time zone is taken.
var commonZones = []string{"UTC", "America/Los_Angeles", "America/Denver", "America/Chicago", "America/New_York", "America/Sao_Paulo",
	"Europe/London", "Europe/Berlin", "Europe/Paris", "Europe/Kyiv", "Africa/Lagos", "Africa/Nairobi", "Asia/Dubai", "Asia/Kolkata",
	"Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland"}

// notificationFields are the fields of the form.
func notificationFields() form.Table[notifications.Settings] {
	type s = notifications.Settings
	on := map[notifications.Kind]func(*s) *bool{
		notifications.Review:    func(v *s) *bool { return &v.On.Review },
		notifications.Question:  func(v *s) *bool { return &v.On.Question },
		notifications.Failed:    func(v *s) *bool { return &v.On.Failed },
		notifications.Budget:    func(v *s) *bool { return &v.On.Budget },
		notifications.AgentDead: func(v *s) *bool { return &v.On.AgentDead },
		notifications.Stopped:   func(v *s) *bool { return &v.On.Stopped },
	}
	fields := form.Table[s]{
		form.Box("browser", "Browser", func(v *s) *bool { return &v.Channels.Browser }),
		form.Box("email", "E-mail", func(v *s) *bool { return &v.Channels.Email }),
		form.Box("webhook", "Webhook", func(v *s) *bool { return &v.Channels.Webhook }),
		form.Line("webhook_url", "Address of your webhook", notifications.MaxURL, func(v *s) *string { return &v.WebhookURL }),
	}
	for _, k := range notifications.Kinds {
		fields = append(fields, form.Box("on_"+string(k), kindHelp[k].label, on[k]))
	}
	return append(fields,
		form.Line("quiet_from", "From", 5, func(v *s) *string { return &v.QuietHours.From }).Also("quiet_hours.from"),
		form.Line("quiet_to", "To", 5, func(v *s) *string { return &v.QuietHours.To }).Also("quiet_hours.to"),
		form.Line("timezone", "Time zone", 64, func(v *s) *string { return &v.QuietHours.Timezone }).Also("quiet_hours.timezone"),
		minutesField("digest_minutes", "Gather", "minutes; 0 tells at once", notifications.MaxDigestMinutes,
			func(v *s) *int { return &v.DigestMinutes }),
		minutesField("escalate_minutes", "After", "minutes; 0 is never", notifications.MaxEscalateMinutes,
			func(v *s) *int { return &v.Escalate.Minutes }).Also("escalate.minutes"),
		form.Choice("escalate_to", "Tell", func(v *s) *string { return &v.Escalate.To }).Also("escalate.to"))
}

// minutesField is a whole number of minutes; empty is 0.
func minutesField(name, label, note string, high int, at func(*notifications.Settings) *int) form.Field[notifications.Settings] {
	f := form.Custom(name, label, 0,
		func(v *notifications.Settings) string { return strconv.Itoa(*at(v)) },
		func(v *notifications.Settings, text string) string {
			wrong := map[string]string{}
			n := web.NumberChoice(name, text, 0, high, wrong)
			if *at(v) = 0; n != nil {
				*at(v) = *n
			}
			return wrong[name]
		}).WithKind(ui.KindWhole).Note(note)
	f.Low, f.High = 0, high
	return f
}

// changeAll returns a change of all that the form has.
func changeAll(s notifications.Settings) notifications.Change {
	return notifications.Change{
		Channels: &notifications.ViaChange{Browser: &s.Channels.Browser, Email: &s.Channels.Email, Webhook: &s.Channels.Webhook},
		On: &notifications.OnChange{Review: &s.On.Review, Question: &s.On.Question, Failed: &s.On.Failed,
			Budget: &s.On.Budget, AgentDead: &s.On.AgentDead, Stopped: &s.On.Stopped},
		QuietHours: &s.QuietHours, DigestMinutes: &s.DigestMinutes, Escalate: &s.Escalate, WebhookURL: &s.WebhookURL,
	}
}

func notificationsModel(all notifications.Overview, who tenancy.Principal, f ui.Form) view.NotificationsPage {
	m := view.NotificationsPage{Form: f, Zones: commonZones, Secret: all.Settings.WebhookSecret, PushKey: all.PushKey, NoMail: !all.Mail}
	via := all.Settings.Channels
	m.AnyOn = via.Browser || via.Email || via.Webhook
	for _, k := range notifications.Kinds {
		help := kindHelp[k].help
		if !notifications.Decides(who.Role, k) {
			help += " Your role does not decide on it."
		}
		m.Kinds = append(m.Kinds, view.NotificationKind{Field: "on_" + string(k), Help: help})
	}
	m.Members = []ui.Option{{Value: "", Label: "nobody"}}
	for _, one := range all.Members {
		m.Members = append(m.Members, ui.Option{Value: one.Email, Label: one.Name + " (" + one.Email + ")"})
	}
	for _, c := range all.Channels {
		one := view.NotificationChannel{Name: channelNames[c.Channel], Why: c.Error}
		if c.FailingSince == nil {
			continue
		}
		one.Since = ui.Date(*c.FailingSince)
		m.Channels = append(m.Channels, one)
	}
	for _, b := range all.Browsers {
		m.Browsers = append(m.Browsers, view.NotificationBrowser{ID: b.ID.String(), Name: b.Name, Since: ui.Date(b.Since),
			Outdated: b.Outdated})
	}
	return m
}

var channelNames = map[notifications.Channel]string{notifications.Browser: "browser", notifications.Email: "e-mail",
	notifications.Webhook: "webhook"}

// testToast says how each channel did.
func testToast(list []notifications.ChannelState) ui.Toast {
	t := ui.Toast{Tone: ui.OK, Title: "A test message is on its way"}
	var sent, failed []string
	for _, c := range list {
		if c.Error == "" {
			sent = append(sent, channelNames[c.Channel])
		} else {
			failed = append(failed, "By "+channelNames[c.Channel]+": "+c.Error)
		}
	}
	if len(sent) > 0 {
		t.Text = "By " + strings.Join(sent, ", ") + ". "
	}
	if len(failed) > 0 {
		t.Tone, t.Title = ui.Warn, "Not all test messages were sent"
		t.Text += strings.Join(failed, " ")
	}
	return t
}
