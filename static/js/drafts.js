// What is being written is kept on this device until it was sent: the form for a
// new job, answers and reviews. Secrets are not kept. Whoever else signs in on this
// device sees drafts of their own.

const { workspace = "", account = "" } = document.body.dataset;
const prefix = `draft:${account}:${workspace}:`;
const longest = 30 * 24 * 3600 * 1000; // a draft is kept for thirty days
const pause = 300; // after a key, before it is kept
const timers = new WeakMap();

const nameOf = (form) => prefix + form.dataset.draft;

// typed are the fields of a form that may be kept, as pairs of name and value.
function typed(form) {
  const secret = new Set([...form.querySelectorAll("[data-secret], [type=password]")].map((field) => field.name));
  return [...new FormData(form)].filter(([name, value]) => value !== "" && !secret.has(name));
}

function keep(form) {
  clearTimeout(timers.get(form));
  try {
    localStorage.setItem(nameOf(form), JSON.stringify({ at: Date.now(), fields: typed(form) }));
    say(form, "Draft kept on this device");
  } catch {
    say(form, "This browser keeps no drafts"); // no room, or not allowed
  }
}

function drop(form) {
  clearTimeout(timers.get(form));
  timers.delete(form);
  try {
    localStorage.removeItem(nameOf(form));
  } catch {
    // Nothing was kept either.
  }
}

// discard drops the draft of a form of another page, by its name.
export function discard(name) {
  try {
    localStorage.removeItem(prefix + name);
  } catch {
    // Nothing was kept either.
  }
}

function draftOf(form) {
  try {
    const draft = JSON.parse(localStorage.getItem(nameOf(form)));
    if (draft && Date.now() - draft.at < longest) return draft;
    localStorage.removeItem(nameOf(form));
  } catch {
    // Not ours, or not allowed.
  }
  return null;
}

function say(form, text) {
  const line = form.querySelector("[data-draft-state]");
  if (line) line.firstElementChild.textContent = text;
}

for (const kind of ["input", "change"]) {
  document.addEventListener(kind, (event) => {
    const form = event.target.closest?.("form[data-draft]");
    if (!form) return;
    clearTimeout(timers.get(form));
    timers.set(form, setTimeout(() => keep(form), pause));
  });
}
addEventListener("pagehide", () => {
  for (const form of document.querySelectorAll("form[data-draft]")) {
    if (timers.has(form)) keep(form);
  }
});

// What was taken is no draft any more.
document.addEventListener("htmx:before:response", (event) => {
  const { sourceElement, response } = event.detail.ctx;
  if (sourceElement.matches?.("form[data-draft]") && response.status < 400) drop(sourceElement);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-draft-discard]");
  const form = button && (button.closest("form[data-draft]") ?? document.querySelector("form[data-draft]"));
  if (!form) return;
  drop(form);
  if (!button.href) location.reload();
});
// Whoever uses this browser next finds nothing.
document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-forget]")) return;
  try {
    for (const name of Object.keys(localStorage)) if (name.startsWith("draft:")) localStorage.removeItem(name);
  } catch {
    // Nothing was kept.
  }
});

// restore shows a draft. A form with a place to ask is drawn by the server, which
// knows its rows and chips; a plain one gets its text back.
async function restore(form) {
  const draft = form.hasAttribute("data-draft-skip") ? null : draftOf(form);
  if (!draft || draft.fields.length === 0) return;
  if (form.dataset.draftUrl) {
    const source = document.body.appendChild(formOf(draft.fields));
    await htmx.ajax("POST", form.dataset.draftUrl, { source, target: "#main", select: "#main", swap: "outerMorph" });
    source.remove();
  } else {
    for (const [name, value] of draft.fields) {
      const field = form.elements[name];
      if (field?.matches?.("textarea") && field.value === "") field.value = value;
    }
  }
  const at = new Date(draft.at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  say(form, "Your draft of " + at);
  form.querySelector("[data-draft-discard]")?.removeAttribute("hidden");
}

function formOf(fields) {
  const form = document.createElement("form");
  form.hidden = true;
  for (const [name, value] of fields) {
    const field = document.createElement("textarea"); // an input would join lines
    field.name = name;
    field.value = value;
    form.append(field);
  }
  return form;
}

addEventListener("DOMContentLoaded", () => {
  for (const form of document.querySelectorAll("form[data-draft]")) restore(form);
});
