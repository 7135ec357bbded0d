// Single keys, off while somebody types. The list is in views/layout/overlays.go.
import { openPalette } from "./palette.js";

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
function nameKeys() {
  for (const key of document.querySelectorAll(".kbd[data-mod]")) key.textContent = "Ctrl";
}
if (!isMac) {
  nameKeys();
  document.addEventListener("htmx:after:swap", nameKeys);
}

let waiting = null; // after g

const go = { b: "/board", r: "/review", n: "/needs-you", a: "/agents", t: "/timeline", m: "/messages", s: "/settings" };

document.addEventListener("keydown", (event) => {
  const mod = event.metaKey || event.ctrlKey;
  if (mod && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  if (mod && event.key === "Enter") {
    const form = event.target.closest?.("form[method=post]");
    if (form && typing(event.target)) form.requestSubmit();
    return;
  }
  if (mod || event.altKey || event.isComposing || typing(event.target)) return;
  const menu = document.querySelector("[popover]:popover-open");
  if (menu) {
    if (inMenu(menu, event)) event.preventDefault();
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  if (pressed(event) || single(event)) event.preventDefault();
});

function typing(el) {
  if (el.closest?.("dialog:not([open])")) return false;
  return Boolean(el.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]"));
}

// A page names the keys of its own buttons and links: data-key="j ArrowDown".
// A key that is held down presses once.
function pressed(event) {
  if (waiting || event.shiftKey) return false;
  const target = document.querySelector(`[data-key~="${CSS.escape(event.key)}"]`);
  if (!target || target.offsetParent === null) return false;
  if (!event.repeat) target.click();
  return true;
}

function single(event) {
  const key = event.key;
  if (waiting) {
    clearTimeout(waiting);
    waiting = null;
    if (go[key]) {
      location.assign(go[key]);
      return true;
    }
  }
  switch (key) {
    case "?":
      document.getElementById("keys").showModal();
      return true;
    case "/":
      return focusSearch();
    case "c":
      return follow('.nav-link[href="/jobs/new"]');
    case "g":
      waiting = setTimeout(() => {
        waiting = null;
      }, 1000);
      return true;
    case "m":
      return openMenu();
    case "e":
      return editCard();
    case "J":
      return rank(1);
    case "K":
      return rank(-1);
    default:
      return walk(key);
  }
}

// The row that a page with J and K is about.
document.querySelector(".rq[aria-current]")?.scrollIntoView({ block: "nearest" });

function focusSearch() {
  const field = document.querySelector("[data-search]");
  if (!field || field.offsetParent === null) {
    openPalette();
    return true;
  }
  field.focus();
  field.select();
  return true;
}

function follow(selector) {
  const link = document.querySelector(selector);
  link?.click();
  return Boolean(link);
}

// The card that the keys are about: the focused one.
function currentCard() {
  return document.activeElement?.closest?.("[data-card]") ?? null;
}

function openMenu() {
  const button = currentCard()?.querySelector(".job-menu") ?? document.querySelector("[data-menu]");
  if (!button) return false;
  const menu = document.getElementById(button.getAttribute("popovertarget"));
  menu.showPopover({ source: button });
  items(menu)[0]?.focus();
  return true;
}

function editCard() {
  const way = currentCard()?.querySelector(".way-edit");
  way?.click();
  return Boolean(way);
}

// The board puts a card further down its column, or up.
function rank(by) {
  const card = currentCard();
  card?.dispatchEvent(new CustomEvent("rank", { bubbles: true, detail: by }));
  return Boolean(card);
}

const steps = {
  ArrowDown: [0, 1], j: [0, 1],
  ArrowUp: [0, -1], k: [0, -1],
  ArrowRight: [1, 0], l: [1, 0],
  ArrowLeft: [-1, 0], h: [-1, 0],
};

function walk(key) {
  const step = steps[key];
  const lists = [...document.querySelectorAll("[data-list]")].filter((l) => l.querySelector("[data-card]"));
  if (!step || lists.length === 0) return false;
  const card = currentCard();
  if (!card && key.startsWith("Arrow")) return false; // arrows scroll
  focusCard(card ? neighbour(lists, card, step) : lists[0].querySelector("[data-card]"));
  return true;
}

function neighbour(lists, card, [dx, dy]) {
  const list = card.closest("[data-list]");
  const cards = [...list.querySelectorAll("[data-card]")];
  const at = cards.indexOf(card);
  if (dy) return cards[at + dy] ?? card;
  const next = lists[lists.indexOf(list) + dx];
  if (!next) return card;
  // The card at the same height.
  const top = card.getBoundingClientRect().top;
  return [...next.querySelectorAll("[data-card]")].reduce((best, c) =>
    Math.abs(c.getBoundingClientRect().top - top) < Math.abs(best.getBoundingClientRect().top - top) ? c : best);
}

function focusCard(card) {
  card?.querySelector(".job-link").focus({ preventScroll: true });
  card?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

const columns = ["waiting", "ready", "running", "review", "done", "failed"];
const items = (menu) => [...menu.querySelectorAll(".pop-i")].filter((i) => i.offsetParent !== null);

// askWhy sends a move that a menu does not have: the server says why there is none.
function askWhy(menu, to) {
  const form = menu.querySelector("form:has([name=version])[action$='/move']");
  if (!form) return;
  menu.hidePopover();
  const about = document.getElementById("card-" + menu.id.replace(/^menu-/, "")) ?? form;
  htmx.ajax("POST", form.action, { source: about, swap: "none", values: { to, version: form.elements.version.value } });
}

// In an open menu: arrows walk, a digit moves the card to that column.
function inMenu(menu, event) {
  if (/^[1-6]$/.test(event.key)) {
    const item = menu.querySelector(`[data-n="${event.key}"]`);
    if (item) item.click();
    else askWhy(menu, columns[event.key - 1]);
    return true;
  }
  const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (!by) return false;
  const all = items(menu);
  const at = all.indexOf(document.activeElement);
  all[(at + by + all.length) % all.length]?.focus();
  return true;
}
