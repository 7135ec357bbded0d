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

func (c factory) installCommand() *cobra.Command {
	var toPrint bool
	cmd := &cobra.Command{
		Use:   "install [-- FLAGS OF fleet worker]",
		Args:  cobra.ArbitraryArgs,
		Short: "Have the system start the worker, and start it again when it ends",
		Long: "install writes a unit of systemd, or a property list of launchd on macOS, for your own services, and says how to\n" +
			"start it. The worker uses the current context, so log in first, or that of --context.\n\n" +
			"Services have none of your shell's variables. Those that the worker and agent programs read, such as\n" +
			"FLEETBOARD_ENROLMENT_TOKEN, GITEA_TOKEN and ANTHROPIC_API_KEY, and those of --pass, are written to worker.env\n" +
			"beside the configuration, which only you can read; one that is there stays as it is.",
		Example: "  fleet login https://fleetboard.example.com\n  fleet worker install -- --repos ~/src --seats 3",
		RunE:    func(_ *cobra.Command, args []string) error { return c.install(args, toPrint) },
	}
	cmd.Flags().BoolVar(&toPrint, "print", false, "print the unit and write nothing")
	return cmd
}

// install writes the files of the service, with the flags of its worker.
func (c factory) install(flags []string, toPrint bool) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	config, err := c.env.configPath()
	if err != nil {
		return err
	}
	s := service{argv: []string{program, "worker"}, environment: filepath.Join(filepath.Dir(config), environmentFile)}
	if c.context != "" {
		s.argv = append(s.argv, "--context", c.context)
	}
	if c.server != "" {
		s.argv = append(s.argv, "--server", c.server)
	}
	s.argv = append(s.argv, flags...)
	path, text, start, err := c.service(runtime.GOOS, s)
	if err != nil {
		return err
	}
	if toPrint {
		_, err := fmt.Fprint(c.env.Out, text)
		return err
	}
	at, err := c.target() // of what is wrong with --context, better now than in the service
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	variables := c.env.serviceEnvironment(flags)
	made, err := writeEnvironment(s.environment, variables)
	if err != nil {
		return err
	}
	c.say("%s is written.\n", path)
	switch {
	case !made:
		c.say("%s is kept as it is.\n", s.environment)
	case len(variables) > 0:
		c.say("%s has %s, for you alone.\n", s.environment, strings.Join(listNames(variables), ", "))
	default:
		c.say("%s has no variables yet; add those that agent programs need.\n", s.environment)
	}
	if at.enrolment == "" {
		c.say("There is no enrolment token for %s: `fleet login` keeps one; Settings, Connect an agent makes it.\n", at.server)
	}
	c.say("Start it with:\n\n  %s\n", start)
	return nil
}

// service is what a system starts: a command, with the variables of a file.
type service struct {
	argv        []string
	environment string
}

// service returns the file that has a system start a command: where it belongs, what it says,
// and the line that starts it.
func (c factory) service(system string, s service) (path, text, start string, err error) {
	home := c.env.Getenv("HOME")
	if home == "" {
		return "", "", "", fail(exitUsage, "HOME is not set, so there is no place for the file: use --print")
	}
	search := c.env.Getenv("PATH")
	switch system {
	case "linux":
		path = filepath.Join(home, ".config", "systemd", "user", "fleet-worker.service")
		return path, systemdUnit(s, search), "systemctl --user daemon-reload && systemctl --user enable --now fleet-worker", nil
	case "darwin":
		path = filepath.Join(home, "Library", "LaunchAgents", "dev.fleetboard.worker.plist")
		return path, launchdList(s, search, filepath.Join(c.env.StateDir, "worker.log")), "launchctl load -w " + path, nil
	}
	return "", "", "", fail(exitUsage, "install knows systemd and launchd, and not %s", system)
}

// systemdUnit lets attempts end when the service is stopped, and saves their work when that
// takes long.
func systemdUnit(s service, search string) string {
	quoted := make([]string, len(s.argv))
	for i, word := range s.argv {
		quoted[i] = systemdWord(word)
	}
	return `[Unit]
Description=Fleetboard worker
After=network-online.target

[Service]
ExecStart=` + strings.Join(quoted, " ") + `
Environment=` + systemdWord("PATH="+search) + `
EnvironmentFile=-` + strings.ReplaceAll(s.environment, "%", "%%") + `
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

// launchdList returns the same for launchd, which reads no file of variables: a shell does.
func launchdList(s service, search, log string) string {
	const read = `set -a; [ ! -r "$0" ] || . "$0"; set +a; exec "$@"`
	var words strings.Builder
	for _, word := range append([]string{"/bin/sh", "-c", read, s.environment}, s.argv...) {
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
