#!/usr/bin/env bash
# A Fleetboard orchestrator: claims jobs of kind "plan", splits each into three jobs for
# other agents, answers what those ask, joins their results and completes. Needs curl and jq.
#
# input_context.parts of a plan are the parts, as POST /jobs takes jobs, and input_context.answer
# what their agents are told when they ask; both have defaults. Environment: FLEETBOARD_URL,
# FLEETBOARD_ENROLMENT_TOKEN or FLEETBOARD_ENROLMENT_TOKEN_FILE (its agents may create jobs and
# have the role orchestrator), AGENT_NAME, FACTORY_NAME, ORCHESTRATOR_ONCE=1 to stop after a plan.
# shellcheck disable=SC2015,SC2016 # jq does not fail on good JSON; what single quotes keep is for jq
set -uo pipefail
: "${FLEETBOARD_URL:=http://127.0.0.1:8080}" "${AGENT_NAME:=orchestrator-$(uname -n)}" "${FACTORY_NAME:=$AGENT_NAME}" "${ORCHESTRATOR_ONCE:=}"
random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }
work=$(mktemp -d) boot=$(random) beats='' answer='' after=0
trap 'kill $beats 2>/dev/null; rm -rf "$work"' EXIT; trap 'exit 130' INT TERM
say() { printf '%s %s: %s\n' "$(date +%T)" "$AGENT_NAME" "$*" >&2; }
# The token stays in a file: arguments are seen by everybody on the host.
keep() { [ -z "$1" ] || (umask 077; f=$(mktemp "$work/new.XXXXXX"); printf 'Authorization: Bearer %s\n' "$1" >"$f" && mv "$f" "$work/auth"); }
# call METHOD PATH [BODY [KEY]] sets answer. While the server is away it asks again, which every call here allows.
call() {
  answer=$(curl -sS --retry 120 --retry-delay 1 --retry-max-time 600 --retry-all-errors --max-time 60 -X "$1" -H @"$work/auth" -H 'Content-Type: application/json' \
    -H "Idempotency-Key:${4:+ $4}" -w '\n%{http_code}' --data-binary "${3:-}" "$FLEETBOARD_URL/api/v1$2" 2>/dev/null) || { say "$1 $2: no answer"; return 1; }
  local status=${answer##*$'\n'}; answer=${answer%$'\n'*}
  [[ $status == 2* ]] || { say "$1 $2 refused: $(jq -r '"\(.code): \(.detail)"' <<<"$answer")"; return 1; }
}
# Every 5 s a sign of life; a plan that was cancelled, paused or lost is dropped.
heartbeats() {
  while sleep 5; do
    call POST "/agents/$AGENT_NAME/heartbeat" "$(jq -nc --arg boot "$boot" --slurpfile lease <(cat "$work/lease" 2>/dev/null) \
      '{boot_id: $boot, status: (if $lease == [] then "idle" else "working" end), leases: $lease}')" && keep "$(jq -r '.token // empty' <<<"$answer")" || continue
    jq -e 'any(.leases[]; .directive | IN("cancel", "pause", "fenced"))' <<<"$answer" >/dev/null && touch "$work/stop"
  done
}
# report VERB FIELDS speaks of the lease that is held.
report() { call POST "/fleet/$1" "$(jq -c ". + $2" "$work/lease")"; }
# file_parts files the parts, each under a key of the attempt, so that one sent twice is one job; $work/open has their keys.
file_parts() {
  local part n=0
  while read -r part; do
    call POST /jobs "$part" "$(jq -r '"\(.job)-\(.epoch)"' "$work/lease")-$((n += 1))" && jq -r .key <<<"$answer" >>"$work/open" || return 1
  done < <(jq -c --slurpfile lease "$work/lease" '.title as $goal | .repo as $repo |
    (.input_context.parts // [("Explore: ", "Build: ", "Check: ") | {title: (. + $goal)[:200], repo: $repo}])[:3][] | . + {discovered_from: $lease[0]}' "$work/plan")
  say "$key: filed $(paste -sd' ' "$work/open")"
}
# settle JOB answers what a part asks, and joins it once it has ended.
settle() {
  call GET "/jobs/$1" || return 1
  case $(jq -r .status <<<"$answer") in
    blocked) say "$1 asks: $(jq -r .question <<<"$answer")"
      call POST "/jobs/$1/answer" "$(jq -c '{answer: (.input_context.answer // "Decide yourself, and say what you chose.")}' "$work/plan")"; return 0 ;;
    completed | failed | aborted | archived) jq -c '{key, status, title, result, commit}' <<<"$answer" >>"$work/results"; grep -vxF -- "$1" "$work/open" >"$work/left"; mv "$work/left" "$work/open" ;;
  esac
}
# heed MESSAGE deals with what the server says of a part; all else needs nothing.
heed() {
  local job; job=$(jq -r 'select(.type == "task_blocked" or (.payload.to? | IN("completed", "failed", "aborted", "archived"))) | .job' <<<"$1")
  ! grep -qxF -- "${job:--}" "$work/open" || settle "$job"
}
keep "${FLEETBOARD_ENROLMENT_TOKEN:-$(cat "${FLEETBOARD_ENROLMENT_TOKEN_FILE:?set it, or FLEETBOARD_ENROLMENT_TOKEN}")}"
call PUT "/agents/$AGENT_NAME" "$(jq -nc --arg factory "$FACTORY_NAME" --arg boot "$boot" '{boot_id: $boot, heartbeat_interval_seconds: 5, roles: ["orchestrator"],
  factory: {name: $factory, capabilities: ["plans"]}}')" || exit 1
keep "$(jq -r .token <<<"$answer")" && say "registered as an orchestrator"; heartbeats & beats=$!
while call GET '/jobs?ready_only=true&limit=200'; do
  key=$(jq -r '[.items[] | select(.kind == "plan")][0].key // empty' <<<"$answer")
  if [ -z "$key" ] || ! call POST /fleet/claim "$(jq -nc --arg job "$key" --arg id "$(random)" '{job: $job, request_id: $id}')" || [ -z "$answer" ]; then sleep 2; continue; fi
  jq -c '.jobs[0]' <<<"$answer" >"$work/plan"; jq -c '{job: .key, epoch: .lease.epoch}' "$work/plan" >"$work/lease"
  rm -f "$work/stop"; : >"$work/open"; : >"$work/results"; file_parts || touch "$work/stop"
  while [ -s "$work/open" ] && [ ! -e "$work/stop" ] && call GET "/messages?wait_seconds=20&after=$after"; do
    after=$(jq .next_after <<<"$answer"); jq -c '.items[]' <<<"$answer" >"$work/messages"
    while read -r message; do # a message is acknowledged once it was dealt with
      heed "$message" && call POST /messages/ack "$(jq -c '{seqs: [.seq]}' <<<"$message")"
    done <"$work/messages"
    [ -s "$work/messages" ] || while read -r job; do settle "$job"; done < <(cat "$work/open") # one may have been missed
  done
  if [ -s "$work/open" ] || [ -e "$work/stop" ]; then report release '{reason: "stopped, as asked or for a refusal"}'
  elif jq -es 'all(.status == "completed")' "$work/results" >/dev/null; then
    report complete "$(jq -sc '{summary: ("Joined " + (map(.key) | join(", ")) + "."), result: {parts: .}}' "$work/results")" && say "$key: joined"
  else report fail "$(jq -sc '{error: ("Parts did not succeed: " + (map("\(.key) is \(.status)") | join(", "))), kind: "other", retryable: false}' "$work/results")"; fi
  rm -f "$work/lease"; [ -z "$ORCHESTRATOR_ONCE" ] || exit 0
done
