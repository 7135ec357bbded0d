#!/usr/bin/env bash
# A Fleetboard agent: claims jobs, does each one on a branch fleet/<key> of a git
# repository, reports, and completes with the commit. Needs curl, jq and git.
#
# IT RUNS WHAT THE BOARD SAYS: the command in a job's input_context.command, with
# your rights, in a worktree of REPO_DIR. A job without one adds a line to JOBS.md.
#
#   FLEETBOARD_URL               default http://127.0.0.1:8080
#   FLEETBOARD_ENROLMENT_TOKEN   or FLEETBOARD_ENROLMENT_TOKEN_FILE, a file with it
#   REPO_DIR, REPO_NAME          the repository, and its name on the board
#   AGENT_NAME, FACTORY_NAME     default to this host's name
#   AGENT_ONCE=1                 stop after one job
set -uo pipefail
: "${FLEETBOARD_URL:=http://127.0.0.1:8080}" "${REPO_DIR:?set it to a git repository}"
: "${REPO_NAME:=$(basename "$REPO_DIR")}" "${FACTORY_NAME:=$(uname -n)}" "${AGENT_NAME:=$FACTORY_NAME-agent}"
say() { printf '%s %s: %s\n' "$(date +%T)" "$AGENT_NAME" "$*" >&2; }
enrolment=${FLEETBOARD_ENROLMENT_TOKEN:-$(cat "${FLEETBOARD_ENROLMENT_TOKEN_FILE:?set it, or FLEETBOARD_ENROLMENT_TOKEN}")} || exit 2
git -C "$REPO_DIR" rev-parse -q --verify HEAD >/dev/null || { say "$REPO_DIR is not a git repository with a commit"; exit 2; }
state=$(mktemp -d) boot=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n') beats=''
end() { { end_command; kill -- "-$beats"; rm -rf "$state"; git -C "$REPO_DIR" worktree prune; } 2>/dev/null; }
end_command() { [ -s "$state/pid" ] && kill -- "-$(cat "$state/pid")" 2>/dev/null; }
trap end EXIT
trap 'exit 130' INT TERM

# Tokens stay in files: arguments are seen by everybody on the host.
keep() { (umask 077; printf 'Authorization: Bearer %s\n' "$2" >"$1.new" && mv "$1.new" "$1"); }

# call METHOD PATH BODY [TOKEN]: prints the answer. While the server is away it
# sends the same again, which every call here allows. It fails on a refusal.
call() {
  local reply status wait=1
  while :; do
    reply=$(curl -sS --max-time 60 -X "$1" -H @"$state/${4:-agent}" -H 'Content-Type: application/json' \
      -w '\n%{http_code}' --data-binary @- "$FLEETBOARD_URL/api/v1$2" <<<"$3" 2>&1)
    status=${reply##*$'\n'} reply=${reply%$'\n'*}
    case $status in
      2??) printf '%s' "$reply"; return ;;
      429 | 5?? | 000) say "$1 $2: no answer ($status), again in $wait s"; sleep "$wait"; wait=$((wait < 8 ? wait * 2 : 8)) ;;
      *) [ "$status" = 401 ] && [ -z "${4:-}" ] && register && continue # the token ended while the server was away
        say "$1 $2 refused: $(jq -r '"\(.code): \(.detail) \(.fields // "")"' <<<"$reply")"; return 1 ;;
    esac
  done
}

register() {
  local body
  body=$(jq -n --arg f "$FACTORY_NAME" --arg r "$REPO_NAME" --arg b "$boot" --arg os "$(uname -s | tr '[:upper:]' '[:lower:]')" \
    '{boot_id: $b, heartbeat_interval_seconds: 5, factory: {name: $f, os: $os, capabilities: ["has:git"], repos: [{name: $r}]}}')
  body=$(call PUT "/agents/$AGENT_NAME" "$body" enrolment) && keep "$state/agent" "$(jq -r .token <<<"$body")"
}

# Every 5 s a sign of life; the answer may bring a new token, or say that the job
# was cancelled, paused or lost: then its command is ended.
heartbeats() {
  local lease answer token
  while sleep 5; do
    lease=$(cat "$state/lease" 2>/dev/null)
    answer=$(call POST "/agents/$AGENT_NAME/heartbeat" \
      "{\"boot_id\":\"$boot\",\"status\":\"$([ -n "$lease" ] && echo working || echo idle)\",\"leases\":[$lease]}") || continue
    token=$(jq -r '.token // empty' <<<"$answer") && [ -n "$token" ] && keep "$state/agent" "$token"
    jq -e 'any(.leases[]; .directive | IN("pause", "cancel", "fenced"))' <<<"$answer" >/dev/null && touch "$state/stop" && end_command
  done
}

report() { jq -c --argjson lease "$(cat "$state/lease")" "\$lease + $2" <<<null >"$state/body" && call POST "/fleet/$1" "$(cat "$state/body")" >/dev/null; }

work() { # the job as JSON
  local status commit command
  export JOB_KEY JOB_TITLE
  JOB_KEY=$(jq -r .key <<<"$1") JOB_TITLE=$(jq -r .title <<<"$1")
  # shellcheck disable=SC2016 # the command's own shell fills them in
  command=$(jq -r '.input_context.command // "echo \"* $JOB_TITLE\" >>JOBS.md"' <<<"$1")
  jq -c '{job: .key, epoch: .lease.epoch}' <<<"$1" >"$state/lease"
  say "$JOB_KEY: $JOB_TITLE"
  report progress '{progress_percent: 10, current_step: "on branch fleet/\(env.JOB_KEY)"}' || return
  set -m
  {
    git -C "$REPO_DIR" worktree add -q --force -B "fleet/$JOB_KEY" "$state/tree" HEAD && cd "$state/tree" &&
      bash -c "$command" && git add -A && git -c user.name="$AGENT_NAME" -c user.email="$AGENT_NAME@fleetboard.invalid" \
        -c commit.gpgsign=false commit -q --allow-empty -m "$JOB_KEY: $JOB_TITLE"
  } >"$state/log" 2>&1 </dev/null &
  printf '%s' $! >"$state/pid"; wait $! 2>/dev/null; status=$?; rm "$state/pid"; set +m
  if [ -e "$state/stop" ]; then
    say "$JOB_KEY: stopped, as the board wants it" && report release '{reason: "stopped as asked"}'
  elif [ "$status" -ne 0 ]; then
    say "$JOB_KEY: failed with status $status" && JOB_ERROR="It ended with status $status. $(tail -c 4000 "$state/log" | tr -d '\000')" \
      report fail '{error: env.JOB_ERROR, kind: "command", retryable: true}'
  else
    commit=$(git -C "$state/tree" rev-parse HEAD)
    JOB_COMMIT=$commit report complete '{commit: env.JOB_COMMIT, branch: "fleet/\(env.JOB_KEY)", summary: "Done."}' && say "$JOB_KEY: done, commit $commit"
  fi
}

keep "$state/enrolment" "$enrolment"
register || exit 1
say "registered in $FACTORY_NAME with the repository $REPO_NAME"
set -m; heartbeats & beats=$!; set +m # a process group of its own, so that it ends whole
while :; do # the same request_id gives the same job, should an answer be lost
  answer=$(call POST /fleet/claim "{\"wait_seconds\":20,\"request_id\":\"$boot-$RANDOM$RANDOM\"}") || exit 1
  [ -n "$answer" ] || continue
  work "$(jq -c '.jobs[0]' <<<"$answer")"
  git -C "$REPO_DIR" worktree remove --force "$state/tree" 2>/dev/null
  rm -f "$state/lease" "$state/stop"
  [ -z "${AGENT_ONCE:-}" ] || exit 0
done
