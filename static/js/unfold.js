// A column that was unfolded with "Show more" stays unfolded: a live message
// brings its first cards only, so the rest is kept and soon asked for again.

const wait = 1000; // between a message and the question for the rest
const unfolded = new Set(); // ids of lists
const timers = new Map();

export const isUnfolded = (id) => unfolded.has(id);
const linkIn = (list) => list?.querySelector(":scope > .col-more > a");

document.addEventListener("htmx:before:swap", (event) => {
  const tasks = event.detail.tasks ?? [];
  const more = event.detail.ctx?.sourceElement?.closest?.(".col-more");
  if (more) {
    unfolded.add(more.parentElement.id);
    // What follows are the cards that the answer brings anew.
    while (more.nextElementSibling) more.nextElementSibling.remove();
    for (const card of tasks.flatMap((t) => [...t.fragment.querySelectorAll("[data-card]")])) {
      if (document.getElementById(card.id)) card.remove();
    }
    return;
  }
  const sent = new Set(tasks.flatMap((t) => [...(t.fragment?.querySelectorAll("[data-card], [data-same]") ?? [])].map((c) => c.id)));
  for (const task of tasks) {
    for (const list of task.fragment?.querySelectorAll("[data-list]") ?? []) keepRest(list, sent);
  }
});

// keepRest adds to a list of a message what the page shows besides it.
function keepRest(list, sent) {
  if (!unfolded.has(list.id)) return;
  const old = document.getElementById(list.id);
  if (!old || !linkIn(list)) {
    unfolded.delete(list.id);
    return;
  }
  for (const card of old.querySelectorAll(":scope > [data-card]")) {
    if (!sent.has(card.id)) list.append(card.cloneNode(true));
  }
  if (timers.has(list.id)) return;
  timers.set(list.id, setTimeout(() => {
    timers.delete(list.id);
    const now = document.getElementById(list.id);
    if (now?.querySelector(":popover-open, :focus")) return; // the next message asks again
    linkIn(now)?.click();
  }, wait));
}
