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

function step(by) {
  const all = options();
  if (all.length === 0) return;
  const at = all.indexOf(chosen());
  choose(all[(at + by + all.length) % all.length]);
}

input.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") step(1);
  else if (event.key === "ArrowUp") step(-1);
  else if (event.key === "Enter" && chosen()) chosen().click();
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
list.addEventListener("htmx:after:swap", () => choose(chosen()));

// Show the first rows as soon as it opens, however it was opened.
dialog.addEventListener("toggle", (event) => {
  if (event.newState !== "open") return;
  input.select();
  input.dispatchEvent(new Event("palette-open"));
});
