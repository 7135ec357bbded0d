// Adapter between htmx's events and the page: the state of the stream, the
// hold on live changes during a drag, and the reset. What happens to the cards of
// the board is in cards.js, requests that got no answer are in send.js.

import { timeToday } from "./time.js";

const source = document.getElementById("live");
const state = document.getElementById("live-state");
const note = document.getElementById("offline-note");

const slow = 1500; // a reconnection shorter than this is not shown
const lost = 8000; // from here on the note is shown
let timers = [];
let since = null;
let live = false; // the stream is open and tells of everything

function show(kind, text) {
  if (state) {
    state.className = "live js-only" + (kind ? " live-" + kind : "");
    state.querySelector("[data-live-text]").textContent = text;
  }
}

function connected() {
  live = true;
  timers.forEach(clearTimeout);
  timers = [];
  since = null;
  show("", "Live");
  if (note) note.hidden = true;
}

function broken() {
  live = false;
  if (since) return;
  since = new Date();
  const at = timeToday(since);
  timers = [
    setTimeout(() => show("wait", "Reconnecting"), slow),
    setTimeout(() => {
      show("off", "Offline since " + at);
      note.querySelector("[data-since]").textContent = at;
      document.querySelector("#main .top")?.after(note);
      note.hidden = false;
    }, lost),
  ];
}

// hold keeps live messages back until the returned function is called; with
// several holds, until the last of them is.
let holders = 0;
let gate = null;
let open;
export function hold() {
  if (holders++ === 0) {
    gate = new Promise((resolve) => {
      open = resolve;
    });
  }
  let held = true;
  return () => {
    if (!held) return;
    held = false;
    if (--holders > 0) return;
    gate = null;
    open();
  };
}

if (source) {
  source.addEventListener("htmx:sse:after:connection", connected);
  source.addEventListener("htmx:sse:error", broken);
  source.addEventListener("htmx:sse:close", broken);
  source.addEventListener("htmx:error", broken);
  source.addEventListener("htmx:response:error", broken);
  source.addEventListener("htmx:sse:before:connection", (event) => {
    if (event.detail.connection?.attempt > 0) broken();
  });
  source.addEventListener("htmx:sse:before:message", (event) => {
    if (gate) event.detail.waitUntil(gate);
  });
  // The server lost count of what this page has seen: fetch it again, unless the
  // page stands still until its reader asks.
  source.addEventListener("reset", () => document.querySelector("[data-still]") ?? refetch());
}

// refetch shows the page as it is now. What the stream tells meanwhile comes after.
export function refetch() {
  const release = hold();
  return htmx.ajax("GET", location.pathname + location.search, {
    source: "#live",
    target: "#main",
    select: "#main",
    selectOOB: "#fleet:outerMorph,#nav-health:outerMorph,#more-health:outerMorph,#nav-needs-n:outerMorph,#dock-needs-n:outerMorph,#nav-review-n:outerMorph,#dock-review-n:outerMorph",
    swap: "outerMorph",
  }).finally(release);
}

// An answer of parts brings its places along. It is dropped where its form is gone,
// which a live change may have taken away meanwhile: it is given a place that stays.
document.addEventListener("htmx:config:request", (event) => {
  const ctx = event.detail.ctx;
  if (live && ctx.request.method !== "GET") ctx.request.headers["Fleetboard-Live"] = "yes";
  if (ctx?.swap === "none" && !ctx.sourceElement.hasAttribute("hx-sse:connect")) ctx.target = document.getElementById("toasts");
});

// A morph can move the focused element into another column, or take it away
// with its form: keep the focus, or leave it where the element was. Swaps may
// overlap, so what had the focus is known until the person turns elsewhere.
let focused = null;
function remember() {
  const el = document.activeElement;
  focused = el?.closest?.("#main") ? { id: el.id, card: el.closest("[data-card]")?.id, around: around(el) } : null;
}
document.addEventListener("pointerdown", () => (focused = null), true);
// A button that is disabled while its request lasts has lost the focus already.
document.addEventListener("htmx:config:request", (event) => {
  if (event.detail.ctx?.sourceElement !== source) remember();
});
document.addEventListener("htmx:before:swap", () => {
  if (document.activeElement !== document.body) remember();
});
document.addEventListener("htmx:after:swap", () => {
  if (!focused || (document.activeElement && document.activeElement !== document.body)) return;
  const card = focused.card && document.getElementById(focused.card);
  const el = shown(focused.id) ?? card?.querySelector(".job-link") ?? focused.around.map(shown).find(Boolean);
  if (!el) return;
  el.focus({ preventScroll: true });
  if (document.activeElement !== el) {
    el.tabIndex = -1;
    el.focus({ preventScroll: true });
  }
});

// around are the ids of what an element stands in, inside of #main.
function around(el) {
  const ids = [];
  while ((el = el.parentElement) && el.id !== "main") if (el.id) ids.push(el.id);
  return ids;
}

function shown(id) {
  const el = id ? document.getElementById(id) : null;
  return el?.checkVisibility() ? el : null;
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-reload]")) location.reload();
});
