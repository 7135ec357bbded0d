// Choosing the jobs that a new one depends on: a combobox whose options come from
// the server, and the chosen jobs as chips before it. Enter chooses and never sends
// the form.
const form = document.getElementById("job-form");
const field = document.getElementById("dep");
const chosen = document.getElementById("dep-chosen");
const list = document.getElementById("dep-options");
const pause = 160; // after a key, before the server is asked

let timer;
let shown = ""; // the query that the options belong to
let wanted = false; // Enter was pressed before its answer came

const query = () => field.value.trim();
const options = () => [...list.querySelectorAll('[role="option"]')];
const active = () => list.querySelector('[aria-selected="true"]');

function activate(option) {
  active()?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
}

function open(yes) {
  list.hidden = !yes;
  field.setAttribute("aria-expanded", String(yes));
  if (!yes) activate(null);
}

async function search() {
  const asked = query();
  if (asked !== "") {
    await htmx.ajax("GET", "/jobs/search", { source: field, target: list, swap: "innerHTML", values: { q: asked } });
  }
  if (asked !== query()) return; // typed on meanwhile
  shown = asked;
  for (const option of options()) if (isChosen(option.dataset.key)) option.remove();
  open(asked !== "");
  if (wanted) choose(options()[0]);
}

const isChosen = (key) => chosen.querySelector(`[data-dep][value="${CSS.escape(key)}"]`);

function choose(option) {
  wanted = false;
  if (!option) return;
  chosen.insertBefore(option.querySelector("template").content.cloneNode(true), field);
  field.value = shown = "";
  list.replaceChildren();
  open(false);
  field.focus();
  changed();
}

function changed() {
  form.dispatchEvent(new Event("route-changed"));
  form.dispatchEvent(new Event("change", { bubbles: true }));
}

function step(by) {
  const all = options();
  if (all.length === 0) return;
  const at = all.indexOf(active());
  activate(all[at < 0 && by < 0 ? all.length - 1 : (at + by + all.length) % all.length]);
}

field.addEventListener("input", () => {
  wanted = false;
  clearTimeout(timer);
  timer = setTimeout(search, pause);
});

field.addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.isComposing) return;
  switch (event.key) {
    case "Enter":
      if (query() !== shown) wanted = true;
      else choose(active() ?? options()[0]);
      break;
    case "ArrowDown":
      step(1);
      break;
    case "ArrowUp":
      step(-1);
      break;
    case "Escape":
      if (list.hidden) return;
      open(false);
      break;
    case "Backspace":
      if (field.value === "") [...chosen.querySelectorAll("[data-dep]")].at(-1)?.click();
      return;
    default:
      return;
  }
  event.preventDefault();
});

list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the field
list.addEventListener("click", (event) => choose(event.target.closest('[role="option"]')));
field.addEventListener("blur", () => {
  wanted = false;
  open(false);
});

// A chip that is switched off goes.
chosen.addEventListener("change", (event) => {
  if (!event.target.matches("[data-dep]") || event.target.checked) return;
  event.target.closest("label").remove();
  field.focus();
  changed();
});
