// Dragging a card to another column. The same moves are in the card's menu.
// The server says which columns accept a card (data-moves) and decides again;
// its answer holds the card or the columns as they are then. A card that is let go over
// another column goes back, and the server says why. A ready card is dragged within its column
// too, among those of its order (data-order), which claims follow.
import { hold } from "./live.js";
import { recall, remember } from "./memory.js";
import { onAnswer } from "./news.js";
import { announce } from "./toast.js";
import "./unfold.js";

const lists = () => [...document.querySelectorAll("#board [data-list]")];
let release = null;
let origin = null; // where the dragged card stood

function attach() {
  for (const list of lists()) {
    if (Sortable.get(list)) continue;
    Sortable.create(list, {
      group: "board",
      draggable: "[data-card]",
      filter: "[popover], .job-menu, .tlink, .job-act",
      preventOnFilter: false,
      sort: list.dataset.list === "ready" && !list.querySelector(".group-h"),
      forceFallback: true,
      fallbackTolerance: 5,
      fallbackOnBody: true,
      delay: 180,
      delayOnTouchOnly: true,
      animation: 0,
      ghostClass: "drag-slot",
      fallbackClass: "drag-card",
      scrollSensitivity: 60,
      onStart: started,
      onMove: mayStand,
      onEnd: ended,
    });
  }
}

// mayStand keeps a card that has not left its column among those of its order.
function mayStand({ from, to, dragged, related }) {
  return from !== to || dragged.parentNode !== from || ranksWith(dragged, related);
}

const ranksWith = (card, other) => other.matches("[data-order]") && other.dataset.order === card.dataset.order;

// beside returns the nearest card of a card's order above or below it in its column.
function beside(card, by) {
  for (let at = card; (at = by < 0 ? at.previousElementSibling : at.nextElementSibling); ) if (ranksWith(card, at)) return at;
  return null;
}

// rankOf is where a card stands in its column, as the server takes it: before the next one of its order,
// or else after the last one.
function rankOf(card) {
  const [next, last] = [beside(card, 1), beside(card, -1)];
  if (next) return { before: next.dataset.card };
  return last && { after: last.dataset.card };
}

const accepted = (card) => card.dataset.moves.split(" ").filter(Boolean);

function started(event) {
  const card = event.item;
  origin = { list: event.from, next: card.nextElementSibling, rank: JSON.stringify(rankOf(card)) };
  release = hold();
  const moves = accepted(card);
  for (const list of lists()) {
    const own = list === event.from;
    list.closest(".col").classList.toggle("drag-yes", moves.includes(list.dataset.list));
    list.closest(".col").classList.toggle("drag-no", !own && !moves.includes(list.dataset.list));
  }
}

async function ended(event) {
  const card = event.item;
  for (const col of document.querySelectorAll(".drag-yes, .drag-no")) col.classList.remove("drag-yes", "drag-no");
  const back = origin;
  origin = null;
  const moved = event.to !== event.from;
  const letGo = release;
  release = null;
  const asking = moved && card.querySelector(`[data-to="${event.to.dataset.list}"][data-ask]`);
  try {
    const refused = moved && !accepted(card).includes(event.to.dataset.list);
    if (asking || refused) settle(card, back);
    if (refused) await post(card, event.to.dataset.list);
    else if (moved && !asking) await move(card, event.to.dataset.list, back, letGo);
    else if (!moved) await rank(card, back, letGo);
  } finally {
    letGo?.();
  }
  if (asking) ask(card.id, asking.dataset.ask);
}

// What a move asks is asked here, in the dialog of the job's page. It stands outside of
// the board, where no live change touches it; the card stays where it was until then.
async function ask(id, url) {
  await htmx.ajax("GET", url, { source: "#board", target: "#asked", swap: "innerHTML" });
  const dialog = document.querySelector("#asked dialog");
  if (!dialog) return;
  dialog.addEventListener("close", () => document.getElementById(id)?.querySelector(".job-link")?.focus({ preventScroll: true }));
  dialog.showModal();
}
document.addEventListener("click", (event) => {
  const item = event.target.closest("#board [data-ask]");
  if (!item || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  ask(item.closest("[data-card]").id, item.dataset.ask);
});

// move asks the server; meanwhile the card stands where it was dropped, marked
// as pending. A newer state of the card is success, wherever it stands.
async function move(card, to, back, letGo) {
  const title = document.getElementById("h-" + to).textContent;
  const id = card.id;
  pending(card, title);
  const over = onAnswer(id, letGo);
  await post(card, to);
  over();
  const now = document.getElementById(id);
  if (!now) return;
  settle(now, back);
  if (now.dataset.column === to) announce(`${now.dataset.card} moved to ${title}`);
}

// rank asks the server to keep a card of the column Ready where it was dropped.
async function rank(card, back, letGo) {
  const to = card.dataset.order && rankOf(card);
  if (!to || JSON.stringify(to) === back.rank) return restore(card, back);
  if (!(await sendRank(card, to, letGo)) && card.isConnected) restore(card, back);
}

// sendRank returns whether the card is there and was moved.
async function sendRank(card, to, letGo) {
  const { id } = card;
  const { version } = card.dataset;
  pending(card, "its new place");
  const over = onAnswer(id, letGo);
  await htmx.ajax("POST", card.dataset.url.replace(/move$/, "rank"), { source: card, swap: "none", values: to });
  over();
  const now = document.getElementById(id);
  if (now) settle(now);
  return Boolean(now) && now.dataset.version !== version;
}

// Shift with J and K: further down the column, or up.
document.addEventListener("rank", async ({ target: card, detail: by }) => {
  const other = card.dataset.order && !card.querySelector("[data-pending]") && beside(card, by);
  if (!other) return;
  const moved = await sendRank(card, { [by < 0 ? "before" : "after"]: other.dataset.card });
  if (moved) announce(`${card.dataset.card} moved ${by < 0 ? "up" : "down"}`);
});

const post = (card, to) =>
  htmx.ajax("POST", card.dataset.url, { source: card, swap: "none", values: { to, version: card.dataset.version } });

function pending(card, title) {
  const box = card.querySelector(".job") ?? card;
  box.classList.add("job-pending");
  const line = document.getElementById("pending-template").content.cloneNode(true);
  line.querySelector("span").textContent = "Moving to " + title;
  (box.querySelector(".job-f") ?? box.lastElementChild).before(line);
}

// settle takes the marks away and puts a card that is not where it belongs
// into its column.
function settle(card, back) {
  for (const box of [card, ...card.querySelectorAll(".job-pending")]) box.classList.remove("job-pending");
  for (const line of card.querySelectorAll("[data-pending]")) line.remove();
  const list = card.closest("[data-list]");
  if (!list || list.dataset.list === card.dataset.column) return;
  if (back?.list.isConnected && back.list.dataset.list === card.dataset.column) restore(card, back);
  else document.getElementById("list-" + card.dataset.column)?.prepend(card);
}

// restore puts a card where it was taken from.
function restore(card, back) {
  if (!back.list.isConnected) return;
  back.list.insertBefore(card, back.next?.isConnected && back.next.parentNode === back.list ? back.next : null);
}

// On small screens: which column is in view.
const tabs = document.querySelector(".tabs-m");
if (tabs) {
  const seen = new IntersectionObserver((entries) => {
    for (const e of entries) {
      if (!e.isIntersecting) continue;
      for (const a of tabs.querySelectorAll("a")) {
        if (a.hash === "#" + e.target.id) a.setAttribute("aria-current", "true");
        else a.removeAttribute("aria-current");
      }
    }
  }, { root: document.getElementById("board"), threshold: 0.6 });
  for (const col of document.querySelectorAll("#board .col")) seen.observe(col);
}

attach();
document.addEventListener("htmx:after:swap", attach);

// Back brings the columns as they were scrolled.
const place = "scroll:" + location.pathname + location.search;
const scrolled = () => [document.getElementById("board"), ...lists()].filter(Boolean);
addEventListener("pagehide", () => {
  remember("sessionStorage", place, JSON.stringify(scrolled().map((el) => [el.id, el.scrollTop, el.scrollLeft])));
});
if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") {
  for (const [id, top, left] of JSON.parse(recall("sessionStorage", place)) ?? []) document.getElementById(id)?.scrollTo({ top, left });
}
