package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A bus that has stopped is told.
func TestAStoppedBusIsTold(t *testing.T) {
	bus, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	bus.Start()
	t.Cleanup(bus.Shutdown)
	if !bus.ReadyForConnections(time.Minute) {
		t.Fatal("the bus did not start")
	}
	w := start(t, map[string]string{"FLEETBOARD_TRANSPORT": "nats", "FLEETBOARD_NATS_URL": bus.ClientURL()})
	name := `fleetboard_transport_connected{transport="nats"}`
	well := w.until("the bus is heard", is(name, 1))
	bus.Shutdown()
	fires(t, "FleetboardWakeUpsInterrupted", 3, well, w.until("the bus is not heard", is(name, 0)))
	if value(w.scrape(), "fleetboard_transport_interruptions_total") < 1 {
		t.Error("the interruption was not counted")
	}
}

// Backups that cannot be made are told.
func TestFailingBackupsAreTold(t *testing.T) {
	to := filepath.Join(openDir(t), "backups")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	w := start(t, map[string]string{"FLEETBOARD_DATA_DIR": filepath.Join(openDir(t), "data"), "DATABASE_URL": "", "FLEETBOARD_BACKUP_URL": to})
	well := w.until("a backup was made", func(s series) bool {
		return value(s, "fleetboard_backup_problem") == 0 && value(s, "fleetboard_backup_age_seconds") >= 0 && value(s, "fleetboard_archive_age_seconds") >= 0
	})
	if err := os.Rename(to, to+".gone"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fires(t, "FleetboardBackupsFail", 7, well, w.until("the log is not archived", is("fleetboard_backup_problem", 1)))
}

// openDir is a directory that the database server's account reaches.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fleetboard-monitoring-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

var waits = regexp.MustCompile(`(?m)^\s+for: \w+\n`)

// Prometheus itself scrapes a server and fires when its database is away; the waits of the rules are left out.
func TestPrometheusFires(t *testing.T) {
	path := program(t, "prometheus")
	w := start(t, nil)
	dir := t.TempDir()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yaml]\n"+
		"scrape_configs: [{job_name: fleetboard, static_configs: [{targets: ['%s']}]}]\n", strings.TrimPrefix(w.app.URL(), "http://"))
	for name, text := range map[string]string{"rules.yaml": waits.ReplaceAllString(read(t, rules), ""), "prometheus.yaml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, path, "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=error")
	c.Stderr = t.Output()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = c.Wait() })
	var firing map[string]bool
	until := func(what string, wanted func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
			if firing = fired(t, address); firing != nil && wanted() {
				return
			}
		}
		t.Fatalf("%s: %v fire", what, firing)
	}
	until("a server that is well", func() bool { return len(firing) == 0 && queried(t, address, "fleetboard_coordinator_active == 1") })
	w.cut(true)
	until("a database that is away", func() bool { return firing["FleetboardDatabaseAway"] })
}

// answer is what Prometheus answers.
type answer struct {
	Data struct {
		Alerts []struct {
			State  string
			Labels map[string]string
		}
		Result []json.RawMessage
	}
}

func ask(t *testing.T, url string) (a answer, ok bool) {
	t.Helper()
	got, err := http.Get(url)
	if err != nil {
		return a, false
	}
	defer func() { _ = got.Body.Close() }()
	return a, got.StatusCode == http.StatusOK && json.NewDecoder(got.Body).Decode(&a) == nil
}

// fired returns the alerts that fire; nil while Prometheus does not answer.
func fired(t *testing.T, address string) map[string]bool {
	t.Helper()
	a, ok := ask(t, "http://"+address+"/api/v1/alerts")
	if !ok {
		return nil
	}
	list := map[string]bool{}
	for _, one := range a.Data.Alerts {
		if one.State == "firing" {
			list[one.Labels["alertname"]] = true
		}
	}
	return list
}

// queried reports whether a query has a result.
func queried(t *testing.T, address, query string) bool {
	t.Helper()
	a, ok := ask(t, "http://"+address+"/api/v1/query?query="+strings.ReplaceAll(query, " ", "%20"))
	return ok && len(a.Data.Result) > 0
}
