package ui

import "strings"

// AgentEnvironment returns the lines that give a shell the server and an enrolment
// token: the token itself, or where it is empty the file that holds it.
func AgentEnvironment(server, token, file string) []string {
	value := ShellWord(Clean(token))
	if token == "" {
		value = `"$(cat ` + ShellWord(Clean(file)) + `)"`
	}
	return []string{"export FLEETBOARD_URL=" + ShellWord(Clean(server)), "export FLEETBOARD_ENROLMENT_TOKEN=" + value}
}

// AgentStart returns the lines that make a demo repository, where there is none yet, and
// start the server's agent in it. They need AgentEnvironment.
func AgentStart() []string {
	return []string{
		`export REPO_DIR=~/` + DemoRepo,
		`[ -e "$REPO_DIR/.git" ] || git init -q "$REPO_DIR"`,
		`git -C "$REPO_DIR" rev-parse -q --verify HEAD >/dev/null || git -C "$REPO_DIR" -c user.name=demo \`,
		`  -c user.email=demo@fleetboard.invalid -c commit.gpgsign=false commit -q --allow-empty -m 'Begin'`,
		`curl -fsSO "$FLEETBOARD_URL/agent.sh" && bash agent.sh`,
	}
}

// WorkerStart returns the line, broken for the eye, that starts a worker on the repositories below ~/src, with the
// server and the token of AgentEnvironment.
func WorkerStart(server, token, file string) []string {
	var said []string
	for i, line := range AgentEnvironment(server, token, file) {
		said = append(said, strings.Repeat("  ", i)+strings.TrimPrefix(line, "export ")+` \`)
	}
	return append(said, "  fleet worker --repos ~/src")
}

// DemoRepo is the repository that AgentStart makes, by its name on the board.
const DemoRepo = "fleetboard-demo"

// ShellWord makes one word of a text for a shell, whatever is in it.
func ShellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
