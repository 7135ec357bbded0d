// Under the top bar stands one note at most: the gravest of those that the page is not
// about itself and that the reader has not put away. The server chooses for a whole page
// (handlers/web/notes.go); here the choice is made again when notes arrive live.

const keys = () => (document.cookie.match(/(?:^|; )(?:__Host-)?notes=([^;]*)/)?.[1] ?? "").split(".");
const grave = (note) => Number(note.dataset.grave);

function choose() {
  const away = keys();
  const about = (document.getElementById("main")?.dataset.about ?? "").split(" ");
  const all = [...document.querySelectorAll("[data-note]")];
  const shown = all
    .filter((n) => !away.includes(n.dataset.note) && !about.includes(n.dataset.about))
    .sort((a, b) => grave(b) - grave(a));
  for (const note of all) if (note.hidden !== (note !== shown[0])) note.hidden = note !== shown[0];
  if (shown.length === 0) return;
  const more = shown.reduce((sum, n) => sum + Number(n.dataset.others), shown.length - 1);
  const link = shown[0].querySelector("[data-more]");
  link.hidden = more === 0;
  const text = `and ${more} more`;
  if (link.textContent !== text) link.textContent = text;
  link.setAttribute("href", (shown[1] ?? shown[0]).dataset.listed);
}

document.addEventListener("htmx:after:swap", choose);
document.addEventListener("htmx:finally:request", (event) => {
  if (!event.target.closest?.("[data-put-away]")) return;
  const inside = event.target.contains(document.activeElement);
  choose();
  if (inside) document.getElementById("main").focus();
});
