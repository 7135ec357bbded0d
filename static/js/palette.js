// The command palette: opens on Mod+K, arrows choose, Enter opens.

const dialog = document.getElementById("palette");
const input = document.getElementById("palette-q");
const list = document.getElementById("pal-list");

export function openPalette() {
  if (!dialog.open) dialog.showModal();
}

const options = () => [...list.querySelectorAll('[role="option"]')];
const chosen = () => list.querySelector('[aria-selected="true"]');

function choose(option) {
  chosen()?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) input.setAttribute("aria-activedescendant", option.id);
  else input.removeAttribute("aria-activedescendant");
}

// The rows are those of an older query while an answer is awaited. Enter then
// opens the first row of the answer, not the one that happens to stand there.
let shown = "";
let wanted = false;

function open() {
  if (input.value !== shown) {
    wanted = true;
    return;
  }
  wanted = false;
  chosen()?.click();
}

// Typing on, or leaving, takes the wish back.
for (const name of ["input", "blur"]) {
  input.addEventListener(name, () => {
    wanted = false;
  });
}

function step(by) {
  const all = options();
  if (all.length === 0) return;
  const at = all.indexOf(chosen());
  choose(all[(at + by + all.length) % all.length]);
}

input.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") step(1);
  else if (event.key === "ArrowUp") step(-1);
  else if (event.key === "Enter" && (chosen() || input.value !== shown)) open();
  else return;
  event.preventDefault();
});

list.addEventListener("pointermove", (event) => {
  const option = event.target.closest('[role="option"]');
  if (option && option !== chosen()) choose(option);
});
list.addEventListener("click", (event) => {
  if (event.target.closest('[role="option"]')) dialog.close();
});
// The rows belong to the query that their request took with it.
let asked = "";
input.addEventListener("htmx:before:request", () => {
  asked = input.value;
});
input.addEventListener("htmx:after:swap", () => {
  shown = asked;
  choose(chosen());
  if (wanted && input.value === shown) open();
});

// The job whose card has the focus as it opens is the one that verbs are about.
dialog.addEventListener("beforetoggle", (event) => {
  if (event.newState !== "open") return;
  const card = document.activeElement?.closest("[data-card]");
  document.getElementById("palette-chosen").value = card?.querySelector(".key")?.textContent.trim() ?? "";
});

// Show the first rows as soon as it opens, however it was opened.
dialog.addEventListener("toggle", (event) => {
  if (event.newState !== "open") return;
  input.select();
  input.dispatchEvent(new Event("palette-open"));
});
