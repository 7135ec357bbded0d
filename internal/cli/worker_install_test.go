package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheServiceStartsTheWorker(t *testing.T) {
	c := &cli{screen: screen{env: Env{StateDir: "/state", Getenv: func(name string) string {
		return map[string]string{"HOME": "/home/mara", "PATH": "/bin:/opt/50%"}[name]
	}}}}
	argv := []string{"/usr/bin/fleet", "worker", "--check", `make "test" $HOME`}
	for system, want := range map[string][]string{
		"linux":  {"/home/mara/.config/systemd/user/fleet-worker.service", `ExecStart="/usr/bin/fleet" "worker" "--check" "make \"test\" $$HOME"`, `"PATH=/bin:/opt/50%%"`},
		"darwin": {"/home/mara/Library/LaunchAgents/dev.fleetboard.worker.plist", "<string>make &#34;test&#34; $HOME</string>", "<key>KeepAlive</key><true/>"},
	} {
		path, text, start, err := c.service(system, argv)
		if err != nil || path != want[0] || !strings.Contains(text, want[1]) || !strings.Contains(text, want[2]) || start == "" {
			t.Errorf("%s: %s\n%s\n%s %v", system, path, text, start, err)
		}
	}
	if _, _, _, err := c.service("plan9", argv); err == nil {
		t.Error("plan9 has a service")
	}
}

// systemd's own check of the unit, where it is installed.
func TestSystemdTakesTheUnit(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return // TestTheServiceStartsTheWorker reads the text
	}
	unit := filepath.Join(t.TempDir(), "fleet-worker.service")
	if err := os.WriteFile(unit, []byte(systemdUnit([]string{"/bin/true", "a b"}, "/bin")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), verify, "verify", "--user", unit).CombinedOutput()
	if err != nil && strings.Contains(string(out), "fleet-worker.service:") {
		t.Errorf("%v: %s", err, out)
	}
}
