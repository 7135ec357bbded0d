package statuspage

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/backup"
)

// The page says what can be restored, and that backups are not made; where and why is for the operator.
func TestBackupsSayWhatCanBeRestored(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if m := backupsModel(backup.Status{}, now); m.None != "None yet" {
		t.Errorf("before the first: %+v", m)
	}
	is := backup.Status{LastEnded: now.Add(-3 * time.Hour), Reached: now.Add(-4 * time.Second)}
	if m := backupsModel(is, now); m.None != "" || m.Last.Text != "3h ago" || m.Reached.Text != "4s ago" {
		t.Errorf("%+v", m)
	}
	if note := backupNote(is); note != nil {
		t.Errorf("all is well, and the note is %q", note)
	}
	is.Problem, is.Since = "the disk of /backup is full", now.Add(-time.Hour)
	note := backupNote(is).String()
	if !strings.Contains(note, "Backups are not made since") || !strings.Contains(note, "1 Mar 11:00 UTC") || strings.Contains(note, "/backup") {
		t.Errorf("the note is %q", note)
	}
}
