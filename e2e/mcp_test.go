package e2e

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines/scripted"
)

// quietClaude keeps Claude Code from what the machine has no network for, and has it show all
// tools to the model at once.
const quietClaude = "export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 IS_SANDBOX=1 ENABLE_TOOL_SEARCH=false\n"

// shell runs lines and returns what they print.
func shell(t *testing.T, lines string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash")
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader("set -eu\n"+lines)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the lines said %v:\n%s", err, out)
	}
	return string(out)
}

// The lines of the Connect page, as they stand, give the real Claude Code the tools of a person,
// and the page then says that it called.
func TestClaudeCodeIsConnectedByThePagesLines(t *testing.T) {
	t.Parallel()
	s, programs := ownServer(t), claudeProgram(t)
	v := s.visit(desktop)
	v.logIn()
	v.open("/settings/connect")
	v.sees("#tools-last:has-text('No program has called with a token of yours yet.')")
	out := shell(t, quietClaude+"export PATH="+programs+":$PATH\n"+v.lines("#tools-claude"), "FLEETBOARD_TOKEN="+s.token("owner-token"))
	if !strings.Contains(out, "Connected") {
		t.Errorf("Claude Code says\n%s", out)
	}
	v.open("/settings/connect")
	v.sees("#tools-last:has-text('by claude-code/')")
}

// The real Claude Code, registered and connected by the page's lines, claims a job and completes
// it, with a model that says what a script says.
func TestClaudeCodeClaimsByTools(t *testing.T) {
	t.Parallel()
	s, programs := ownServer(t), claudeProgram(t)
	model := httptest.NewServer(scripted.New([]scripted.Step{
		{Text: "I take one.", Tool: "claim_next_job", Arguments: map[string]any{"wait_seconds": 20, "ttl_seconds": 600}},
		{Text: "I begin.", Tool: "report_progress", Arguments: map[string]any{"job": "FB-1", "epoch": 1, "current_step": "says hello", "progress_percent": 50}},
		{Text: "I hand in.", Tool: "complete_job", Arguments: map[string]any{"job": "FB-1", "epoch": 1, "summary": "Said hello."}},
		{Text: "All is done."}}))
	t.Cleanup(model.Close)
	s.submit("Say hello")
	v := s.visit(desktop)
	v.logIn()
	v.open("/settings/connect")
	out := shell(t, quietClaude+"export PATH="+programs+":$PATH ANTHROPIC_BASE_URL="+model.URL+" ANTHROPIC_API_KEY=none\n"+
		v.lines("#connect-environment")+v.lines("#connect-register")+v.lines("#connect-tools")+
		"claude -p 'Work on one job.' --dangerously-skip-permissions --output-format=stream-json --verbose\n")
	j := s.job("FB-1")
	if j.Status != api.JobStatusCompleted || j.CurrentStep != "says hello" {
		t.Errorf("the job is %s at %q; Claude Code said\n%s", j.Status, j.CurrentStep, out)
	}
}

// claudeProgram returns a directory with Claude Code.
func claudeProgram(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs("../.tools/engines/node_modules/.bin/claude")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "claude")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The protocol's own inspector works a job from its claim to its completion.
func TestTheInspectorWorksAJob(t *testing.T) {
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), "../tools/ensure-inspector.sh").CombinedOutput(); err != nil {
		t.Fatalf("install the inspector: %v\n%s", err, out)
	}
	s := startServer(t)
	s.submit("Say hello")
	token := s.agentToken("ada")
	if got := s.inspect("tools/list", token); len(got["tools"].([]any)) != 9 {
		t.Errorf("the tools are %v", got)
	}
	job := decodeText(t, s.inspect("tools/call", token, "claim_next_job", "wait_seconds=5"))["jobs"].([]any)[0].(map[string]any)
	epoch := string(job["lease"].(map[string]any)["epoch"].(json.Number))
	for _, call := range [][]string{
		{"report_progress", "job=FB-1", "epoch=" + epoch, "progress_percent=40", "current_step=says hello"},
		{"save_checkpoint", "job=FB-1", "epoch=" + epoch, `checkpoint={"done":1}`},
		{"complete_job", "job=FB-1", "epoch=" + epoch, "summary=Said hello."},
	} {
		if got := s.inspect("tools/call", token, call...); got["isError"] == true {
			t.Errorf("%s: %v", call[0], got)
		}
	}
	if j := s.job("FB-1"); j.Status != api.JobStatusCompleted {
		t.Errorf("the job is %s", j.Status)
	}
	if got := s.inspect("tools/call", token, "complete_job", "job=FB-1", "epoch=9"); got["isError"] != true ||
		decodeText(t, got)["code"] != "stale_epoch" {
		t.Errorf("a stale call says %v", got)
	}
}

// agentToken registers an agent and returns its token.
func (s *server) agentToken(name string) string {
	s.t.Helper()
	answer, err := s.client(s.token("enrolment-token")).RegisterAgentWithResponse(s.t.Context(), name,
		api.Registration{BootID: "boot-of-" + name, Factory: api.FactoryInfo{Name: "factory-of-" + name}})
	if err != nil || answer.JSON200 == nil {
		s.t.Fatalf("register %s: %v %s", name, err, body(answer))
	}
	return answer.JSON200.Token
}

// inspect has the inspector make one request and returns the answer's result.
func (s *server) inspect(method, token string, call ...string) map[string]any {
	s.t.Helper()
	program, err := filepath.Abs("../.tools/inspector/node_modules/.bin/mcp-inspector")
	if err != nil {
		s.t.Fatal(err)
	}
	args := []string{"--cli", s.url + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + token, "--method", method}
	if len(call) > 0 {
		args = append(args, "--tool-name", call[0])
		for _, one := range call[1:] {
			args = append(args, "--tool-arg", one)
		}
	}
	cmd := exec.CommandContext(s.t.Context(), program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.t.TempDir()}
	out, err := cmd.Output()
	if len(out) == 0 {
		s.t.Fatalf("the inspector: %v", err)
	}
	return decodeJSON(s.t, string(out))
}

// decodeText returns what a tool answered.
func decodeText(t *testing.T, result map[string]any) map[string]any {
	t.Helper()
	return decodeJSON(t, result["content"].([]any)[0].(map[string]any)["text"].(string))
}

func decodeJSON(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	from := json.NewDecoder(strings.NewReader(text))
	from.UseNumber()
	if err := from.Decode(&o); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}
