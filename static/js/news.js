// Cards that a person acted on and of which the stream is to tell. Should it not do so in time,
// the page is fetched again.
import { refetch } from "./live.js";

const patience = 3000;
const awaited = new Map(); // ids of cards to { version, news, come }

const versionOf = (card) => Number(card?.dataset.version ?? 0);

export function awaitNews(id, version) {
  const one = { version };
  one.news = new Promise((resolve) => (one.come = resolve));
  awaited.set(id, one);
  setTimeout(() => {
    if (awaited.get(id) === one) refetch().finally(() => end(id));
  }, patience);
}

document.addEventListener("htmx:after:swap", () => {
  for (const [id, { version }] of awaited) {
    const card = document.getElementById(id);
    if (!card || versionOf(card) >= version) end(id);
  }
});

function end(id) {
  awaited.get(id)?.come();
  awaited.delete(id);
}

// news ends when the page shows what an act did to a card.
export const news = async (id) => awaited.get(id)?.news;
