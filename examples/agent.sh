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
# shellcheck disable=SC2016 # what single quotes keep is for jq or for the command's shell
set -uo pipefail
: "${FLEETBOARD_URL:=http://127.0.0.1:8080}" "${REPO_DIR:?set it to a git repository}" "${AGENT_NAME:=$(uname -n)}"
: "${REPO_NAME:=$(basename "$REPO_DIR")}" "${FACTORY_NAME:=$(uname -n)}" "${AGENT_ONCE:=}"
random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }
work=$(mktemp -d) boot=$(random) beats='' answer=''
trap 'kill $beats "-$(cat "$work/pid" 2>/dev/null)" 2>/dev/null; rm -rf "$work"; git -C "$REPO_DIR" worktree prune' EXIT
trap 'exit 130' INT TERM
say() { printf '%s %s: %s\n' "$(date +%T)" "$AGENT_NAME" "$*" >&2; }
# The token stays in a file: arguments are seen by everybody on the host.
keep() { [ -z "$1" ] || (umask 077; printf 'Authorization: Bearer %s\n' "$1" >"$work/auth.new" && mv "$work/auth.new" "$work/auth"); }
# call METHOD PATH BODY sets answer. While the server is away it asks again, which every call here allows.
call() {
  answer=$(curl -sS --retry 120 --retry-delay 1 --retry-max-time 600 --retry-all-errors --max-time 60 -X "$1" -H @"$work/auth" \
    -H 'Content-Type: application/json' -w '\n%{http_code}' --data-binary "$3" "$FLEETBOARD_URL/api/v1$2" 2>"$work/curl") || { cat "$work/curl" >&2; return 1; }
  local status=${answer##*$'\n'}; answer=${answer%$'\n'*}
  [[ $status == 2* ]] || { say "$1 $2 refused: $(jq -r '"\(.code): \(.detail)"' <<<"$answer")"; return 1; }
}
# report VERB FIELDS speaks of the lease that is held; $log and $commit are known in FIELDS.
report() { call POST "/fleet/$1" "$(jq -c --arg commit "${commit:-}" --arg log "$(tail -c 4000 "$work/log" 2>/dev/null | tr -d '\000')" ". + $2" "$work/lease")"; }
# end VERB FIELDS reports how the job ended and asks for the next one, which job is set to; empty where there is none.
end() {
  local next="{next: {request_id: \"$(random)\"}}"; [ -z "$AGENT_ONCE" ] || next='{}'
  report "$1" "$2 + $next" && job=$(jq -c '.next.jobs[0] // empty' <<<"$answer")
}
# Every 5 s a sign of life; a job that was cancelled, paused or lost has its command ended.
heartbeats() {
  while sleep 5; do
    call POST "/agents/$AGENT_NAME/heartbeat" "$(jq -nc --arg boot "$boot" --slurpfile lease <(cat "$work/lease" 2>/dev/null) \
      '{boot_id: $boot, status: (if $lease == [] then "idle" else "working" end), leases: $lease}')" || continue
    keep "$(jq -r '.token // empty' <<<"$answer")"
    jq -e 'any(.leases[]; .directive | IN("cancel", "pause", "fenced"))' <<<"$answer" >/dev/null && kill -- "-$(cat "$work/pid" 2>/dev/null)" 2>/dev/null
  done
}
keep "${FLEETBOARD_ENROLMENT_TOKEN:-$(cat "${FLEETBOARD_ENROLMENT_TOKEN_FILE:?set it, or FLEETBOARD_ENROLMENT_TOKEN}")}"
call PUT "/agents/$AGENT_NAME" "$(jq -nc --arg factory "$FACTORY_NAME" --arg repo "$REPO_NAME" --arg boot "$boot" --arg os "$(uname -s | tr '[:upper:]' '[:lower:]')" \
  '{boot_id: $boot, heartbeat_interval_seconds: 5, factory: {name: $factory, os: $os, capabilities: ["has:git"], repos: [{name: $repo}]}}')" || exit 1
keep "$(jq -r .token <<<"$answer")" && say "registered in $FACTORY_NAME with the repository $REPO_NAME"
heartbeats & beats=$!
job=''
while [ -n "$job" ] || call POST /fleet/claim "{\"wait_seconds\":20,\"request_id\":\"$(random)\"}"; do
  [ -n "$job" ] || job=$(jq -c '.jobs[0]' <<<"$answer")
  [ -n "$job" ] || continue
  jq -c '{job: .key, epoch: .lease.epoch}' <<<"$job" >"$work/lease"
  JOB_KEY=$(jq -r .key <<<"$job") JOB_TITLE=$(jq -r .title <<<"$job") commit=''; export JOB_KEY JOB_TITLE
  command=$(jq -r '.input_context.command // "echo \"* $JOB_TITLE\" >>JOBS.md"' <<<"$job")
  say "$JOB_KEY: $JOB_TITLE"
  job='' # until the end brings the next one
  report progress '{progress_percent: 10, current_step: "on branch fleet/\(.job)"}' && {
    set -m # the command gets a process group of its own, so that it ends whole
    (git -C "$REPO_DIR" worktree add -q --force -B "fleet/$JOB_KEY" "$work/tree" HEAD && cd "$work/tree" && bash -c "$command" && git add -A &&
      git -c user.name="$AGENT_NAME" -c user.email="$AGENT_NAME@fleetboard.invalid" -c commit.gpgsign=false commit -q --allow-empty -m "$JOB_KEY: $JOB_TITLE") >"$work/log" 2>&1 </dev/null &
    echo $! >"$work/pid"; wait $!; status=$?; rm "$work/pid"; set +m
    case $status in
      0) commit=$(git -C "$work/tree" rev-parse HEAD) && end complete '{commit: $commit, branch: "fleet/\(.job)", summary: "Done."}' && say "$JOB_KEY: done, commit $commit" ;;
      143) say "$JOB_KEY: stopped, as the board wants it"; end release '{reason: "stopped as asked"}' ;;
      *) say "$JOB_KEY: failed with status $status"; end fail '{error: "The command failed. \($log)", kind: "other", retryable: true}' ;;
    esac
  }
  git -C "$REPO_DIR" worktree remove --force "$work/tree" 2>/dev/null; rm -f "$work/lease" "$work/log"
  [ -z "$AGENT_ONCE" ] || exit 0
done
