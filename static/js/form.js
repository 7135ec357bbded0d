// The form for a new job: rows of criteria, the preview of the description, and
// the sign that the routability preview waits for.
import "./dependency.js";

const form = document.getElementById("job-form");

// Whoever comes for no certain field, and for no refused one, begins with the title.
if (!location.hash && document.activeElement === document.body) document.getElementById("title").focus();

// Whatever the preview depends on says so once, by an event of ours.
form.addEventListener("change", (event) => {
  if (event.target.matches("[data-route]")) form.dispatchEvent(new Event("route-changed"));
});

// Criteria: one empty row at the end; Enter goes on, Backspace in an empty row
// goes back.
const criteria = document.getElementById("criteria");
for (const row of criteria.querySelectorAll(".no-js")) row.remove();

function number() {
  [...criteria.children].forEach((row, i) => {
    row.querySelector(".crit-n").textContent = String(i + 1);
    row.querySelector("input").setAttribute("aria-label", `Criterion ${i + 1}`);
  });
}

function addRow() {
  const row = criteria.lastElementChild.cloneNode(true);
  row.querySelector("input").value = "";
  criteria.append(row);
  number();
  return row.querySelector("input");
}

criteria.addEventListener("input", () => {
  if (criteria.lastElementChild.querySelector("input").value !== "") addRow();
});
criteria.addEventListener("keydown", (event) => {
  const row = event.target.closest("li");
  if (event.key === "Enter" && !event.metaKey && !event.ctrlKey) {
    event.preventDefault();
    const next = row.nextElementSibling?.querySelector("input") ?? (event.target.value ? addRow() : event.target);
    next.focus();
  }
  if (event.key === "Backspace" && event.target.value === "" && criteria.children.length > 1) {
    event.preventDefault();
    const other = (row.previousElementSibling ?? row.nextElementSibling).querySelector("input");
    row.remove();
    number();
    other.focus();
  }
});

// Write and Preview.
const body = document.getElementById("body");
const preview = document.getElementById("body-preview");

async function show(tab) {
  const reading = tab === "preview";
  for (const button of form.querySelectorAll("[data-tab]")) {
    const on = button.dataset.tab === tab;
    button.setAttribute("aria-selected", String(on));
    button.tabIndex = on ? 0 : -1;
  }
  if (reading) {
    preview.replaceChildren();
    await htmx.ajax("POST", "/jobs/new/preview", { source: preview, target: preview, swap: "innerHTML", values: { body: body.value } });
  }
  body.hidden = reading;
  preview.hidden = !reading;
}

form.addEventListener("click", (event) => {
  const button = event.target.closest("[data-tab]");
  if (button) show(button.dataset.tab);
});
form.addEventListener("keydown", (event) => {
  if (!event.target.matches("[data-tab]") || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  const other = event.target.dataset.tab === "write" ? "preview" : "write";
  form.querySelector(`[data-tab="${other}"]`).focus();
  show(other);
});
