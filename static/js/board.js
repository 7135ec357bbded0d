// Dragging a card to another column. The same moves are in the card's menu.
// The server says which columns accept a card (data-moves) and decides again;
// its answer holds the card or the columns as they are then. A card that is let go over
// another column goes back, and the server says why.
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
      sort: false,
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
      onEnd: ended,
    });
  }
}

const accepted = (card) => card.dataset.moves.split(" ").filter(Boolean);

function started(event) {
  const card = event.item;
  origin = { list: event.from, next: card.nextElementSibling };
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
  if (back?.list.isConnected && back.list.dataset.list === card.dataset.column) {
    back.list.insertBefore(card, back.next?.isConnected && back.next.parentNode === back.list ? back.next : null);
    return;
  }
  document.getElementById("list-" + card.dataset.column)?.prepend(card);
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
