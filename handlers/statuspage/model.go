package statuspage

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/backup"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/coordinator/proof"
	"github.com/fleetboard/fleetboard/internal/dispatch/recovery"
	"github.com/fleetboard/fleetboard/internal/eventlog/loss"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/leadership/servers"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/transport"
	"github.com/fleetboard/fleetboard/internal/waitlist"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/statuspage"
	"github.com/fleetboard/fleetboard/views/ui"
)

// statusLines is a page of the coordinator's log.
const statusLines = 50

// counterNames are the counters of a term in words, in the order of the page.
var counterNames = []struct{ key, name string }{
	{"leases_taken_back", "Leases taken back"},
	{"jobs_promoted", "Jobs made ready"},
	{"warned", "Agents warned of the time"},
	{"timed_out", "Jobs timed out"},
	{"cycles_failed", "Jobs failed in a dependency cycle"},
	{"agents_dead", "Agents found dead"},
	{"jobs_compacted", "Histories folded"},
	{"lines_expired", "Old log lines deleted"},
}

// pageData is what the page of the coordinator is made of.
type pageData struct {
	status coordinator.Status
	snap   fleet.Snapshot
	took   time.Duration // that the database needed
	now    time.Time
	canRun bool
	// version is that of the server that makes the page.
	version string
	// servers are those that live.
	servers []servers.Server
	// wakeups is how those of other processes reach this one.
	wakeups notifier.Status
	// backups is how those stand that the server makes; nil where it makes none.
	backups *backup.Status
	proofs  []proof.Proof
	losses  []loss.Loss
	hours   []coordinator.QueueHour // of the queue, the oldest first
	lines   []coordinator.LogLine
	older   int64 // the id before which there are more, 0 at the end
	before  int64
}

func (s pageData) model() view.Status {
	is := s.status
	m := view.Status{Version: s.version, Leader: is.Holder, Term: strconv.FormatInt(is.Term, 10), Cycles: ui.Count(int(is.Cycles)),
		Fleet:    web.AgentsCount(s.snap) + seatsAfter(s.snap),
		Database: "Answers in " + strconv.FormatInt(max(1, s.took.Milliseconds()), 10) + " ms"}
	if is.Since != nil {
		m.Since = ui.Day(*is.Since)
	}
	if is.LastCycleAt != nil {
		m.LastCycle = ui.Ago(*is.LastCycleAt, s.now)
	}
	for _, c := range counterNames {
		if n := is.Stats[c.key]; n > 0 {
			m.Counters = append(m.Counters, view.Counter{Name: c.name, Count: ui.Count(int(n))})
		}
	}
	m.Wakeups, m.LastMessage = wakeupsText(s.wakeups), ui.Ago(s.wakeups.LastMessageAt, s.now)
	for _, one := range s.servers {
		m.Servers = append(m.Servers, view.Server{Name: one.Name, Version: one.Version, Since: ui.Day(one.Since),
			Coordinates: is.Active && one.Name == is.Holder})
	}
	if s.backups != nil {
		m.Backups, m.BackupNote = backupsModel(*s.backups, s.now), backupNote(*s.backups)
	}
	s.health(&m)
	m.Proofs = s.proofModel()
	m.Charts = s.charts()
	if s.canRun {
		m.Recover, m.Log = links.Recover, s.log()
	}
	return m
}

// seatsAfter is ", 4 seats free" where there is a factory.
func seatsAfter(snap fleet.Snapshot) string {
	if len(snap.Factories) == 0 {
		return ""
	}
	return ", " + web.FreeSeats(snap)
}

// backupsModel says what can be restored.
func backupsModel(is backup.Status, now time.Time) *view.Backups {
	m := &view.Backups{}
	if is.LastEnded.IsZero() {
		m.None = "None yet"
		return m
	}
	m.Last = ui.Ago(is.LastEnded, now)
	if !is.Reached.IsZero() {
		m.Reached = ui.Ago(is.Reached, now)
	}
	return m
}

// backupNote says that backups are not made; the reason names places of the machine, which are not for
// everybody who reads the board.
func backupNote(is backup.Status) ui.Sentence {
	if is.Problem == "" {
		return nil
	}
	return ui.Say(ui.Strong("Backups are not made since "), ui.Moment(ui.Day(is.Since)),
		ui.T(". Work goes on. The server's log and "), ui.Key("fleetboard doctor"), ui.T(" say what is in the way."))
}

// wakeupsText says how wake-ups travel, and what goes on without them.
func wakeupsText(is notifier.Status) string {
	name := map[string]string{transport.NameListen: "PostgreSQL (LISTEN)", transport.NameNATS: "NATS"}[is.Transport]
	poll := fmt.Sprintf("by a look every %.0f s", waitlist.WatchEvery.Seconds())
	switch {
	case name == "":
		return "None: waiting claims find jobs of other processes " + poll
	case is.Fallback():
		return name + " is not connected: waiting claims find jobs of other processes " + poll
	default:
		return name + " is connected"
	}
}

// health fills in the word, and the note where it is not a good one.
func (s pageData) health(m *view.Status) {
	is := web.HealthModel(s.status)
	m.Word, m.Icon, m.Tone = is.Word, is.Icon, is.Tone
	switch is.Tone {
	case ui.Warn:
		m.Note = ui.Say(ui.Strong("The coordinator does not get on. "),
			ui.T("It leads, but finished no cycle in the last minute. Look at the server's log."))
	case ui.Bad:
		m.Note = ui.Say(ui.Strong("Nobody coordinates. "),
			ui.T("Claims take back expired leases themselves, a few at a time. Jobs that wait for a time or a repo stay where they are."))
	}
}

func (s pageData) log() *view.Log {
	l := &view.Log{}
	if s.before > 0 {
		l.First = links.Status
	}
	if s.older > 0 {
		l.Older = links.StatusBefore(s.older)
	}
	for _, line := range s.lines {
		m := view.Line{ID: line.ID, At: ui.Day(line.At), Term: "Term " + strconv.FormatInt(line.Term, 10),
			Message: line.Message, Who: line.InstanceID}
		switch line.Level {
		case "WARNING":
			m.Tone = ui.Warn
		case "ERROR", "CRITICAL":
			m.Tone = ui.Bad
		}
		l.Lines = append(l.Lines, m)
	}
	return l
}

// recoveredText says what a recovery did.
func recoveredText(r recovery.Counts) string {
	var parts []string
	say := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, web.Plural(n, one, many))
		}
	}
	say(r.TakenBack, "lease taken back", "leases taken back")
	say(r.TimedOut, "job timed out", "jobs timed out")
	say(r.Warned, "agent warned", "agents warned")
	say(r.CyclesFailed, "job failed in a cycle", "jobs failed in a cycle")
	say(r.Promoted, "job made ready", "jobs made ready")
	if len(parts) == 0 {
		return "Nothing had to be done."
	}
	return strings.Join(parts, ", ") + "."
}
