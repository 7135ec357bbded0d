// What a message of the stream, or the answer to a request, may do to the cards
// of the board. It is an extension of htmx, loaded after it and named in its
// configuration: only extensions are asked before htmx morphs an element.
//
// The stream tells everything in order, but late, and not always all in one
// message: until it has told of a person's own move, the page is ahead of it with
// that card, and a card that left one column may enter the other a message later.
import { refetch } from "./live.js";
import { news } from "./news.js";
import { isUnfolded } from "./unfold.js";

const patience = 5000; // the longest that a card stays ahead of the stream
const grace = 3000; // until a card that nobody told of goes, or is fetched

const ahead = new Map(); // ids of cards to { version, until }
const missing = new Map(); // ids of cards to their column and the digest of what should stand there
const leaving = new Map(); // ids of cards to the timer that takes them away

htmx.registerExtension("cards", {
  htmx_before_swap: (_, { ctx, tasks }) => {
    if (!document.getElementById("board")) return;
    const parts = tasks.filter((task) => task.type === "partial").map((task) => task.fragment);
    const all = (selector) => parts.flatMap((part) => [...part.querySelectorAll(selector)]);
    const own = ctx.sourceElement.id !== "live";
    const acted = own && !promised(ctx.response?.headers) ? about(ctx.sourceElement) : null;
    if (acted) act(acted, versionOf(all(`#${CSS.escape(acted.id)}`)[0]) || versionOf(acted) + 1);
    const lists = all("[data-list]");
    for (const list of lists) forget(list.dataset.list);
    once(all("[data-list] > [data-card], [data-list] > [data-same]"));
    for (const card of all("[data-card], [data-same]")) fit(card, own);
    const told = new Map(all("[data-list] > [id]").map((card) => [card.id, card]));
    for (const list of lists) keep(list, told, acted, own);
  },
  // A card that is the same still comes as an empty place: what stands there stays.
  htmx_before_morph_node: (_, { newNode }) => newNode.dataset?.same === undefined,
});

// Of a column that was swapped only what is new in it needs htmx, not each of its cards.
document.addEventListener("htmx:before:process", (event) => {
  if (!event.target.matches?.("#board .col")) return;
  event.preventDefault();
  for (const fresh of event.target.querySelectorAll(":is([hx-get], [hx-post]):not([data-htmx-powered])")) htmx.process(fresh);
});

// about is the card that a request is about: its source is in it, or names it.
const about = (source) =>
  source.closest("[data-card]") ?? document.getElementById(source.dataset.about || "none");

// promised is the version that the stream is to bring, 0 where the answer shows it itself.
const promised = (headers) => Number(headers?.get("Fleetboard-Told"));

const columnOf = (card) => card.closest("[data-list]")?.dataset.list;
const versionOf = (card) => Number(card?.dataset.version ?? 0);

// aheadWith is the version of a card that a person's own request brought, and
// that the stream has not told of.
function aheadWith(id) {
  const known = ahead.get(id);
  return known && known.until > Date.now() ? known.version : 0;
}

// act notes the card that a person's own request was about.
function act(card, version) {
  ahead.set(card.id, { version, until: Date.now() + patience });
}

// once leaves the newest of a card that moved while a message was made.
function once(cards) {
  const newest = new Map();
  for (const card of cards) {
    const other = newest.get(card.id);
    if (other && versionOf(other) > versionOf(card)) {
      card.remove();
      continue;
    }
    other?.remove();
    newest.set(card.id, card);
  }
}

// withReason is the card that is shown, with the reason that a place brings.
function withReason(shown, place) {
  const card = shown.cloneNode(true);
  card.querySelector("[data-why]").replaceWith(place.querySelector("[data-why]"));
  card.dataset.digest = place.dataset.same;
  place.replaceWith(card);
  return card;
}

// fit makes a card of a message fit to what the page shows of it.
function fit(card, own) {
  const shown = document.getElementById(card.id);
  const column = columnOf(card);
  if (card.dataset.was && shown?.dataset.digest === card.dataset.was && columnOf(shown) === column) card = withReason(shown, card);
  if (card.dataset.same !== undefined) {
    const here = shown && columnOf(shown) === column;
    const right = here ? shown.dataset.digest === card.dataset.same : shown;
    if (!right && !aheadWith(card.id)) expect(card.id, column, card.dataset.same);
    if (here) return stay(card.id);
    card.remove();
    return;
  }
  if (versionOf(card) < Math.max(versionOf(shown), aheadWith(card.id))) {
    if (shown && (!column || columnOf(shown) === column)) card.replaceWith(place(card.id));
    else card.remove();
    return;
  }
  missing.delete(card.id);
  if (column) stay(card.id);
  if (!own) ahead.delete(card.id);
  // The element goes to its new column with the focus and the menu that it has.
  if (shown && column && columnOf(shown) !== column) move(shown, document.getElementById("list-" + column));
}

// keep holds places in a list of a message for the cards that it says nothing of.
// Those that the stream does not bring elsewhere go later, and none from under a
// person's focus.
function keep(list, told, acted, own) {
  if (isUnfolded(list.id)) return;
  const shown = [...document.querySelectorAll(`#${list.id} > [data-card]`)].reverse();
  let next = list.querySelector(":scope > .col-more");
  for (const card of shown) {
    if (told.has(card.id) || card === acted) {
      const sent = told.get(card.id);
      if (sent?.parentNode === list) next = sent;
      continue;
    }
    const kept = place(card.id);
    list.insertBefore(kept, next);
    list.querySelector(":scope > .col-empty")?.remove();
    next = kept;
    if (!own && !leaving.has(card.id)) leave(card.id);
  }
}

function leave(id) {
  leaving.set(id, setTimeout(() => {
    leaving.delete(id);
    const card = document.getElementById(id);
    if (aheadWith(id) || card?.matches(":focus-within, :has(:popover-open)")) leave(id);
    else card?.remove();
  }, grace));
}

function stay(id) {
  clearTimeout(leaving.get(id));
  leaving.delete(id);
}

function place(id) {
  const li = document.createElement("li");
  li.id = id;
  li.dataset.same = "";
  return li;
}

function move(card, list) {
  if (!list) return;
  if (list.moveBefore && card.isConnected) list.moveBefore(card, null);
  else list.append(card);
}

// Where nothing stands at a place, or something else than the server thinks, the page has lost
// count. It is fetched again if the stream does not bring the card meanwhile, and not from
// under an open menu.
let timer = null;
function expect(id, column, digest) {
  missing.set(id, { column, digest });
  timer ??= setTimeout(look, grace);
}

function forget(column) {
  for (const [id, card] of missing) if (card.column === column) missing.delete(id);
}

function look() {
  timer = null;
  for (const [id, card] of missing) if (document.getElementById(id)?.dataset.digest === card.digest) missing.delete(id);
  if (missing.size === 0) return;
  if (document.querySelector("#board :popover-open")) {
    timer = setTimeout(look, grace);
    return;
  }
  missing.clear();
  refetch();
}

// The answer to a person's own act may say no more than the version that the stream is to
// bring: the request lasts until the page shows that.
document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  const id = ctx.request.method !== "GET" && about(ctx.sourceElement)?.id;
  if (!id) return;
  ctx.fetch = async (...request) => {
    const answer = await fetch(...request);
    const version = promised(answer.headers);
    const card = document.getElementById(id);
    if (card && versionOf(card) < version) {
      act(card, version);
      await news(id, version);
    }
    return answer;
  };
});
