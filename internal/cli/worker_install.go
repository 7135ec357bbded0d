package cli

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) workerInstallCommand() *cobra.Command {
	var toPrint bool
	cmd := &cobra.Command{
		Use:   "install [-- FLAGS OF fleet worker]",
		Args:  cobra.ArbitraryArgs,
		Short: "Have the system start the worker, and start it again when it ends",
		Long: "install writes a unit of systemd, or a property list of launchd on macOS, for your own services, and says how to\n" +
			"start it. The worker uses the current context, so log in first; no token is written into the file.",
		Example: "  fleet login --server https://fleetboard.example.com\n  fleet worker install -- --repos ~/src --seats 3",
		RunE: func(_ *cobra.Command, args []string) error {
			program, err := os.Executable()
			if err != nil {
				return err
			}
			path, text, start, err := c.service(runtime.GOOS, append([]string{program, "worker"}, args...))
			if err != nil {
				return err
			}
			if toPrint {
				_, err := fmt.Fprint(c.env.Out, text)
				return err
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return err
			}
			c.say("%s is written. Start it with:\n\n  %s\n", path, start)
			return nil
		},
	}
	cmd.Flags().BoolVar(&toPrint, "print", false, "print the file and write nothing")
	return cmd
}

// service is the file that has a system start a command: where it belongs, what it says,
// and the line that starts it.
func (c *cli) service(system string, argv []string) (path, text, start string, err error) {
	home := c.env.Getenv("HOME")
	if home == "" {
		return "", "", "", fail(exitUsage, "HOME is not set, so there is no place for the file: use --print")
	}
	search := c.env.Getenv("PATH")
	switch system {
	case "linux":
		path = filepath.Join(home, ".config", "systemd", "user", "fleet-worker.service")
		return path, systemdUnit(argv, search), "systemctl --user daemon-reload && systemctl --user enable --now fleet-worker", nil
	case "darwin":
		path = filepath.Join(home, "Library", "LaunchAgents", "dev.fleetboard.worker.plist")
		return path, launchdList(argv, search, filepath.Join(c.env.StateDir, "worker.log")), "launchctl load -w " + path, nil
	}
	return "", "", "", fail(exitUsage, "install knows systemd and launchd, and not %s", system)
}

// systemdUnit lets attempts end when the service is stopped, and saves their work when that
// takes long.
func systemdUnit(argv []string, search string) string {
	quoted := make([]string, len(argv))
	for i, word := range argv {
		quoted[i] = systemdWord(word)
	}
	return `[Unit]
Description=Fleetboard worker
After=network-online.target

[Service]
ExecStart=` + strings.Join(quoted, " ") + `
Environment=` + systemdWord("PATH="+search) + `
Restart=always
RestartSec=5
KillMode=mixed
KillSignal=SIGTERM
TimeoutStopSec=600

[Install]
WantedBy=default.target
`
}

// systemdWord quotes a word: systemd expands % and $ also within quotes.
func systemdWord(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$", "\n", `\n`).Replace(word) + `"`
}

// launchdList is the same for launchd.
func launchdList(argv []string, search, log string) string {
	var words strings.Builder
	for _, word := range argv {
		words.WriteString("    <string>" + xmlText(word) + "</string>\n")
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>dev.fleetboard.worker</string>
  <key>ProgramArguments</key>
  <array>
` + words.String() + `  </array>
  <key>EnvironmentVariables</key>
  <dict><key>PATH</key><string>` + xmlText(search) + `</string></dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
  <key>ExitTimeOut</key><integer>600</integer>
  <key>StandardErrorPath</key><string>` + xmlText(log) + `</string>
</dict>
</plist>
`
}

func xmlText(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes all
	return b.String()
}
