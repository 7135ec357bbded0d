// The form for a new job: rows of criteria, found jobs as chips, the preview
// of the description, and the sign that the routability preview waits for.

const form = document.getElementById("job-form");

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

// Dependencies: found jobs are checkboxes; a checked one becomes a chip.
const dep = document.getElementById("dep");
const chosen = document.getElementById("dep-chosen");
const found = document.getElementById("dep-options");
let timer;

dep.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(search, 160);
});

async function search() {
  const q = dep.value.trim();
  if (q === "") {
    found.hidden = true;
    return;
  }
  await htmx.ajax("GET", "/jobs/search", { source: dep, target: found, swap: "innerHTML", values: { q } });
  for (const box of found.querySelectorAll("[data-dep]")) {
    if (chosen.querySelector(`[data-dep][value="${CSS.escape(box.value)}"]`)) box.closest("label").remove();
  }
  found.hidden = dep.value.trim() === "";
}

dep.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.metaKey && !event.ctrlKey) {
    event.preventDefault();
    found.querySelector("[data-dep]")?.click();
  }
  if (event.key === "Escape") found.hidden = true;
  if (event.key === "ArrowDown") found.querySelector("[data-dep]")?.focus();
  if (event.key === "Backspace" && dep.value === "") chosen.querySelector("label:last-of-type [data-dep]")?.click();
});

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-dep]")) return;
  const chip = event.target.closest("label");
  if (event.target.checked && found.contains(chip)) {
    chosen.insertBefore(chip, dep);
    dep.value = "";
    found.hidden = true;
    dep.focus();
  } else if (!event.target.checked) {
    chip.remove();
    dep.focus();
  }
  form.dispatchEvent(new Event("route-changed"));
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
