package monitoring

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/operating.md anew")

const (
	operating = "../../docs/operating.md"
	begins    = "<!-- figures: go test ./e2e/monitoring -run TestFiguresAreDocumented -update -->\n"
	ends      = "<!-- end of figures -->\n"
)

// The documents list each figure that a server exposes, with what it is of: what a server leaves out
// while its database is away is the database's.
func TestFiguresAreDocumented(t *testing.T) {
	w := start(t, map[string]string{"FLEETBOARD_DATA_DIR": openDir(t) + "/data", "DATABASE_URL": "", "FLEETBOARD_BACKUP_URL": openDir(t)})
	w.until("a backup was made", func(s series) bool {
		return value(s, "fleetboard_backup_age_seconds") >= 0 && value(s, "fleetboard_archive_age_seconds") >= 0
	})
	away := start(t, nil)
	away.cut(true)
	away.until("the database is away", is("fleetboard_database_up", 0))
	own := map[string]bool{"fleetboard_backup_age_seconds": true, "fleetboard_archive_age_seconds": true, "fleetboard_backup_problem": true}
	for _, f := range figures(get(t, away.app.URL()+"/metrics")) {
		own[f.name] = true
	}
	var b strings.Builder
	b.WriteString(begins + "| figure | kind | labels | of | what |\n|---|---|---|---|---|\n")
	for _, f := range figures(get(t, w.app.URL()+"/metrics")) {
		if !strings.HasPrefix(f.name, "fleetboard_") {
			continue
		}
		of := "the database"
		if own[f.name] {
			of = "this server"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.name, f.kind, f.labels, of, f.help)
	}
	b.WriteString(ends)
	text := read(t, operating)
	before, rest, found := strings.Cut(text, begins)
	table, after, closed := strings.Cut(rest, ends)
	if !found || !closed {
		t.Fatal("docs/operating.md has no table of figures")
	}
	if begins+table+ends == b.String() {
		return
	}
	if !*update {
		t.Fatalf("the table is out of date; run go test ./e2e/monitoring -run TestFiguresAreDocumented -update. It must be:\n%s", b.String())
	}
	if err := os.WriteFile(operating, []byte(before+b.String()+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The documents say of each alert what to do.
func TestAlertsAreDocumented(t *testing.T) {
	text := read(t, operating)
	for _, alert := range alertsOfRules(t) {
		if !strings.Contains(text, "| `"+alert+"` |") {
			t.Errorf("docs/operating.md has no row of %s", alert)
		}
	}
}
