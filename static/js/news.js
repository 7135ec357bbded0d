// Cards that a person acted on and of which the stream is to tell. Should it not do so in time,
// the page is fetched again.
import { refetch } from "./live.js";

const patience = 10000; // a stream that broke is back by then, and tells what it missed
const awaited = new Set(); // { id, version, end } of cards
const answered = new Map(); // ids of cards to what is to be done when the answer is there

// onAnswer has something done as soon as an act on a card is answered.
export function onAnswer(id, act) {
  answered.set(id, act);
  return () => answered.delete(id);
}

// news waits until the page shows a version of a card, or has no such card any more.
export async function news(id, version) {
  answered.get(id)?.();
  const one = { id, version };
  const come = new Promise((end) => (one.end = end));
  const late = setTimeout(() => refetch().finally(one.end), patience);
  awaited.add(one);
  await come;
  clearTimeout(late);
  awaited.delete(one);
}

document.addEventListener("htmx:after:swap", () => {
  for (const { id, version, end } of awaited) {
    const card = document.getElementById(id);
    if (!card || Number(card.dataset.version) >= version) end();
  }
});
