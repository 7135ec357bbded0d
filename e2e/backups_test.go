package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// The page Status says by itself when backups are not made, and when they are again.
func TestStatusSaysHowBackupsStand(t *testing.T) {
	t.Parallel()
	disk, err := os.MkdirTemp("/tmp", "fb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(disk) })
	// The embedded server's user has to pass through it.
	if err := os.Chmod(disk, 0o711); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(disk, "store")
	s := start(t, filepath.Join(disk, "data"), "FLEETBOARD_BACKUP_URL="+store, "FLEETBOARD_ADMIN_EMAIL="+ownerEmail,
		"FLEETBOARD_ADMIN_PASSWORD="+ownerPassword)
	v := s.visit(desktop)
	v.logIn()
	v.open("/status")
	v.live()
	v.sees("#backup-note:has-text('Backups are not made since')")
	v.sees("#coordinator dd:has-text('None yet')")
	phone := s.visit(look{theme: "light", width: 390, height: 844})
	phone.logIn()
	phone.open("/status")
	fits, err := phone.tab.Evaluate(`() => document.querySelector('#backup-note').clientHeight >= document.querySelector('#backup-note p').offsetHeight`)
	if err != nil || fits != true {
		t.Errorf("the note is higher than its box: %v, %v", fits, err)
	}
	if err := os.Mkdir(store, 0o700); err != nil {
		t.Fatal(err)
	}
	// The server tries again twice a minute.
	err = v.tab.Locator("#coordinator dd:has-text('any second until')").WaitFor(playwright.LocatorWaitForOptions{Timeout: playwright.Float(180_000)})
	if err != nil {
		t.Fatal(err)
	}
	v.sees("#status-body:not(:has(#backup-note))")
}
