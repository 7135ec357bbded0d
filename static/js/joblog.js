// A job's log: it follows the newest lines unless the reader scrolled up or
// paused it or came for one line, and loads older ones above. Lines come by
// htmx; this looks at what is in the list and never at the messages.

import { recall, remember } from "./memory.js";

const most = 2000; // lines kept on the page while it follows
const held = 1000; // lines that wait during a pause; the others wait in the stream
const near = 24; // px from the end that still count as the end

const states = new WeakMap(); // of lists
const el = (id) => document.getElementById(id);
const linesOf = (list) => [...list.children];
const idOf = (line) => Number(line?.dataset.line ?? 0);
const countText = (n) => n + (n === 1 ? " new line" : " new lines");

// What the reader chose stays when the list is replaced.
let pausedAt = null; // the last line that was shown then
let following = !wantedLine();

// wantedLine is the line that the address names, "" for none.
function wantedLine() {
  return /^#L\d+$/.test(location.hash) ? location.hash.slice(1) : "";
}

// A line that is not among the newest has a page with those around it.
function goToLine() {
  const id = wantedLine();
  const link = document.querySelector("#joblog form");
  if (id && link && !el(id)) location.replace(`${link.action}?line=${id.slice(1)}#${id}`);
}

// Long lines are cut into several, or the log scrolls sideways; the choice is kept on
// this device.
function wrap(yes) {
  if (yes !== undefined) remember("localStorage", "log-wrap", yes ? "" : "no");
  const wraps = yes ?? recall("localStorage", "log-wrap") !== "no";
  el("joblog-body")?.classList.toggle("log-long", !wraps);
  el("joblog-wrap")?.setAttribute("aria-pressed", String(wraps));
}

function setUp() {
  const list = el("joblog-list");
  if (!list || states.has(list)) return;
  const body = el("joblog-body");
  const state = { seen: idOf(list.lastElementChild) };
  states.set(list, state);
  wrap();
  new MutationObserver(() => settle(list, state)).observe(list, { childList: true });
  body.addEventListener("scroll", () => {
    following = body.scrollTop + body.clientHeight >= body.scrollHeight - near;
    if (following && pausedAt === null) saw(list, state);
  }, { passive: true });
  settle(list, state);
}

// settle follows every change of the list: lines that come twice go, those that
// come during a pause wait unseen, else the end is kept in sight.
function settle(list, state) {
  const ids = new Set();
  for (const line of linesOf(list)) {
    if (ids.has(line.id)) line.remove();
    else ids.add(line.id);
    line.hidden = pausedAt !== null && idOf(line) > pausedAt;
  }
  el("joblog-pause")?.setAttribute("aria-pressed", String(pausedAt !== null));
  if (following && pausedAt === null) {
    prune(list);
    toEnd();
    saw(list, state);
  }
  tell(list, state);
}

function toEnd() {
  const body = el("joblog-body");
  body.scrollTop = body.scrollHeight;
}

function saw(list, state) {
  state.seen = idOf(list.lastElementChild);
  tell(list, state);
}

// tell says how many lines the reader has not seen.
function tell(list, state) {
  const button = el("joblog-new");
  const from = pausedAt ?? state.seen;
  const unseen = linesOf(list).filter((line) => idOf(line) > from).length;
  button.hidden = unseen === 0;
  button.textContent = unseen < held ? countText(unseen) : held + "+ new lines";
}

function pause() {
  pausedAt = idOf(el("joblog-list").lastElementChild);
  el("joblog-said").textContent = "";
  change();
}

function resume() {
  const waiting = linesOf(el("joblog-list")).filter((line) => line.hidden).length;
  pausedAt = null;
  following = true;
  change();
  resumed?.();
  el("joblog-said").textContent = waiting > 0 ? countText(waiting) : "";
}

// During a pause the page takes lines up to a limit, and none that would take
// the place of those it shows.
let resumed = null;
document.addEventListener("htmx:sse:before:message", (event) => {
  if (pausedAt === null || event.target.id !== "joblog-live") return;
  const waiting = linesOf(el("joblog-list")).filter((line) => line.hidden).length;
  if (waiting < held && !event.detail.message.data.includes('hx-target="#joblog-body"')) return;
  event.detail.waitUntil(new Promise((resolve) => {
    resumed = resolve;
  }));
});

function change() {
  const list = el("joblog-list");
  settle(list, states.get(list));
}

// prune forgets the oldest lines; the link above brings them back.
function prune(list) {
  const lines = linesOf(list);
  if (lines.length <= most) return;
  for (const line of lines.slice(0, lines.length - most)) line.remove();
  const link = el("joblog-older");
  const url = new URL(link.href);
  url.searchParams.set("before", idOf(list.firstElementChild));
  link.href = url;
  link.parentElement.hidden = false;
}

// loadOlder puts the page before into the list and keeps the reader's place.
async function loadOlder(link) {
  link.setAttribute("aria-busy", "true");
  const answer = await fetch(link.href, { headers: { "HX-Request": "true" } });
  if (!answer.ok) {
    location.assign(link.href); // shows why
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const list = el("joblog-list");
  const body = el("joblog-body");
  const fromEnd = body.scrollHeight - body.scrollTop;
  following = false;
  list.prepend(...page.querySelectorAll("#joblog-list > li"));
  const older = page.getElementById("joblog-older");
  link.href = older.href;
  link.parentElement.hidden = older.parentElement.hidden;
  link.removeAttribute("aria-busy");
  body.scrollTop = body.scrollHeight - fromEnd;
}

document.addEventListener("click", (event) => {
  const at = event.target;
  if (at.closest("#joblog-wrap")) {
    wrap(at.closest("#joblog-wrap").getAttribute("aria-pressed") !== "true");
  } else if (at.closest("#joblog-pause")) {
    if (pausedAt === null) pause();
    else resume();
  } else if (at.closest("#joblog-new")) {
    if (pausedAt === null) {
      following = true;
      change();
    } else {
      resume();
    }
    el("joblog-body").focus({ preventScroll: true });
  } else if (at.closest("#joblog-older") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    if (!at.closest("[aria-busy]")) loadOlder(at.closest("a"));
  }
});

document.addEventListener("htmx:after:swap", setUp);
window.addEventListener("hashchange", goToLine);
setUp();
goToLine();
