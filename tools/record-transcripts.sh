#!/usr/bin/env bash
# Records what Claude Code, Codex and OpenCode print, against the scripted model of
# internal/client/engines/scripted, and puts it into internal/client/engines/transcript/testdata: one
# run of each and another one that resumes it.
#
# The recording with a subagent is not made again: the script has no such step.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/ensure-engines.sh all
bin=$PWD/.tools/engines/node_modules/.bin
into=$PWD/internal/client/engines/transcript/testdata
work=$(mktemp -d)
go build -o "$work/serve" ./internal/client/engines/scripted/serve
mkfifo "$work/address"
"$work/serve" >"$work/address" &
serve=$!
trap 'kill $serve; rm -rf "$work"' EXIT
read -r model <"$work/address"

# in_sandbox PROGRAM COMMAND... runs a program with a home and a repository of its own.
in_sandbox() {
	local name=$1
	shift
	mkdir -p "$work/$name/home/.codex" "$work/$name/repo"
	git -C "$work/$name/repo" init -q
	(cd "$work/$name/repo" && env -i PATH="$PATH" HOME="$work/$name/home" IS_SANDBOX=1 KEY=none ANTHROPIC_API_KEY=none \
		ANTHROPIC_BASE_URL="$model" CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 timeout 120 "$@" </dev/null)
}
# keep FILE PROGRAM takes the machine's paths out of what a program printed.
keep() { sed "s,$work/$2/repo,/srv/repo,g; s,$work/$2/home,/home/agent,g; s,${work//\//-}-$2-repo,-srv-repo,g" >"$into/$1.jsonl"; }
# field NAME is that of the first line of a recording.
field() { head -1 "$into/$2.jsonl" | sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/"; }

prompt="Write hello into greeting.txt and read it back."
again="Do it once more."

claude() { in_sandbox claude "$bin/claude" --output-format stream-json --verbose --dangerously-skip-permissions "$@"; }
claude -p "$prompt" --model claude-sonnet-4-5 | keep claude-code-first claude
claude -p "$again" --model "claude-sonnet-4-5[1m]" --resume "$(field session_id claude-code-first)" | keep claude-code-resumed claude

mkdir -p "$work/codex/home/.codex"
cat >"$work/codex/home/.codex/config.toml" <<TOML
model = "gpt-5-codex"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "$model/v1"
wire_api = "responses"
env_key = "KEY"
TOML
codex() { in_sandbox codex "$bin/codex" exec "$@"; }
codex --json --dangerously-bypass-approvals-and-sandbox "$prompt" | keep codex-first codex
codex resume --json --dangerously-bypass-approvals-and-sandbox "$(field thread_id codex-first)" "$again" | keep codex-resumed codex

mkdir -p "$work/opencode/repo"
cat >"$work/opencode/repo/opencode.json" <<JSON
{"provider": {"local": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "$model/v1", "apiKey": "none"},
  "models": {"scripted": {"cost": {"input": 1.25, "output": 10, "cache_read": 0.125, "cache_write": 0}}}}},
 "permission": "allow", "autoupdate": false, "share": "disabled"}
JSON
opencode() { in_sandbox opencode "$bin/opencode" run --format json -m local/scripted "$@"; }
opencode "$prompt" | keep opencode-first opencode
opencode -s "$(field sessionID opencode-first)" "$again" | keep opencode-resumed opencode
