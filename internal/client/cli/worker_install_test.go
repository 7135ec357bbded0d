package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheServiceStartsTheWorker(t *testing.T) {
	c := factory{&cli{screen: screen{env: Env{StateDir: "/state", Getenv: func(name string) string {
		return map[string]string{"HOME": "/home/mara", "PATH": "/bin:/opt/50%"}[name]
	}}}}}
	starts := service{[]string{"/usr/bin/fleet", "worker", "--check", `make "test" $HOME`}, "/conf/50%/worker.env"}
	for system, want := range map[string][]string{
		"linux": {"/home/mara/.config/systemd/user/fleet-worker.service", `ExecStart="/usr/bin/fleet" "worker" "--check" "make \"test\" $$HOME"`, `"PATH=/bin:/opt/50%%"`, "\nEnvironmentFile=-/conf/50%%/worker.env\n"},
		"darwin": {"/home/mara/Library/LaunchAgents/dev.fleetboard.worker.plist", "<string>make &#34;test&#34; $HOME</string>", "<key>KeepAlive</key><true/>",
			"<string>/conf/50%/worker.env</string>\n    <string>/usr/bin/fleet</string>"},
	} {
		path, text, start, err := c.service(system, starts)
		if err != nil || path != want[0] || !strings.Contains(text, want[1]) || !strings.Contains(text, want[2]) ||
			!strings.Contains(text, want[3]) || start == "" {
			t.Errorf("%s: %s\n%s\n%s %v", system, path, text, start, err)
		}
	}
	if _, _, _, err := c.service("plan9", starts); err == nil {
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
	if err := os.WriteFile(unit, []byte(systemdUnit(service{[]string{"/bin/true", "a b"}, "/nowhere/worker.env"}, "/bin")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), verify, "verify", "--user", unit).CombinedOutput()
	if err != nil && strings.Contains(string(out), "fleet-worker.service:") {
		t.Errorf("%v: %s", err, out)
	}
}

// The variables that a service needs are in a file for its owner alone, which systemd and a shell
// read alike; a second install keeps what a person wrote there.
func TestTheServiceHasTheVariablesOfTheShell(t *testing.T) {
	odd := "a \"b\" $HOME `id` \\ 'c' #d"
	env := Env{Environ: func() []string {
		return []string{"ANTHROPIC_API_KEY=" + odd, "FLEETBOARD_TOKEN=fb_person_1", "GITEA_TOKEN=t", "OTHER=no", "MINE=yes", "OPENAI_API_KEY="}
	}}
	variables := env.serviceEnvironment([]string{"--repos", "/src", "--pass", "MINE"})
	path := filepath.Join(t.TempDir(), "fleet", environmentFile)
	if made, err := writeEnvironment(path, variables); !made || err != nil {
		t.Fatal(made, err)
	}
	if at, err := os.Stat(path); err != nil || at.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", at.Mode(), err)
	}
	shell := exec.CommandContext(t.Context(), "sh", "-c", `set -a; . "$0"; printf '%s|%s|%s' "$ANTHROPIC_API_KEY" "$GITEA_TOKEN" "$MINE"; env`, path)
	shell.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := shell.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), odd+"|t|yes") {
		t.Errorf("a shell reads %s %v", out, err)
	}
	for _, none := range []string{"OTHER=", "FLEETBOARD_TOKEN=", "OPENAI_API_KEY="} {
		if strings.Contains(string(out), none) {
			t.Errorf("it has %s", none)
		}
	}
	if err := os.WriteFile(path, []byte("MINE=\"no\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if made, err := writeEnvironment(path, variables); made || err != nil {
		t.Error(made, err)
	}
	text, err := os.ReadFile(path)
	if at, failed := os.Stat(path); err != nil || failed != nil || string(text) != "MINE=\"no\"\n" || at.Mode().Perm() != 0o600 {
		t.Errorf("the file is %s, %v %v", text, err, failed)
	}
}
