// Small help for plain forms, buttons and dialogs. All of them work without it.

import { recall, remember } from "./memory.js";

// A form marked data-once is sent once: its buttons are off while it is on its
// way, and on again when the browser shows the page from its memory.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-once]")) return;
  if (form.dataset.sent || tooSoon(form)) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "1";
  // After the browser has read the pressed button's name and value.
  setTimeout(() => {
    for (const b of form.querySelectorAll("button[type=submit]")) b.disabled = true;
    const pressed = event.submitter;
    if (pressed?.dataset.busy) busy(pressed);
  });
});

// A decision leads on to the next job: a second press of the same key, or the second
// half of a double click, is not meant for that one. A dialog was opened there on purpose.
const twice = 700;
function tooSoon(form) {
  if (!form.dataset.decision) return false;
  const last = Number(recall("sessionStorage", "decided"));
  remember("sessionStorage", "decided", Date.now());
  return !form.closest("dialog") && Date.now() - last < twice;
}

const words = new WeakMap(); // of busy buttons, what they say otherwise

function busy(button) {
  const spinner = document.createElement("span");
  spinner.className = "loading loading-xs";
  words.set(button, [...button.childNodes]);
  button.replaceChildren(spinner, button.dataset.busy);
}

// release lets a form be sent again.
export function release(form) {
  if (!form.dataset.sent) return;
  delete form.dataset.sent;
  for (const b of form.querySelectorAll("button[type=submit]")) {
    b.disabled = false;
    if (words.has(b)) b.replaceChildren(...words.get(b));
    words.delete(b);
  }
}

addEventListener("pageshow", (event) => {
  if (event.persisted && document.querySelector("[data-sent]")) location.reload();
});

// Copy buttons.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    return; // not allowed here; the text stays selectable
  }
  const icon = button.querySelector("use");
  const old = icon?.getAttribute("href");
  icon?.setAttribute("href", "#i-circle-check");
  setTimeout(() => icon?.setAttribute("href", old), 1500);
});

// Buttons that open and close dialogs, for browsers that do not know command.
if (!("command" in HTMLButtonElement.prototype)) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[commandfor]");
    const dialog = button && document.getElementById(button.getAttribute("commandfor"));
    if (!dialog) return;
    if (button.getAttribute("command") === "show-modal") dialog.showModal();
    else dialog.close();
  });
}

// A menu closes when something in it was chosen.
document.addEventListener("click", (event) => {
  const item = event.target.closest(".pop-i");
  const menu = item?.closest("[popover]");
  if (menu && item.type !== "submit") menu.hidePopover();
});

// A dialog or menu closes when what it asks for is on its way.
document.addEventListener("htmx:before:request", (event) => {
  const from = event.target;
  if (event.detail.ctx?.request?.method === "GET") return;
  from.closest?.("[popover]")?.hidePopover?.();
  from.closest?.("dialog")?.close?.();
});

// A closed dialog must not keep the focus, else single keys would be typed
// into nothing.
document.addEventListener("close", (event) => {
  if (event.target.contains(document.activeElement)) document.activeElement.blur();
}, true);

// The address of a dialog opens it: /jobs/FB-1#dlg-cancel. That of a field, a form or a part
// with a field that it is about begins there, with its heading in view.
const fields = ":is(input:not([type=hidden]), select, textarea):not(:disabled)";
function land() {
  const target = named(location.hash.slice(1));
  if (!target) return;
  if (target.matches("dialog:not([open])")) {
    history.replaceState(null, "", location.pathname + location.search);
    target.showModal();
    return;
  }
  const whole = target.matches("form, fieldset, [role=group], [role=radiogroup]");
  const chosen = target.matches("[role=radiogroup]") ? target.querySelector(":checked") : null;
  const field = chosen ?? (target.matches(fields) ? target : target.querySelector(whole ? fields : "[data-focus]"));
  if (!field) return;
  field.focus({ preventScroll: true });
  (target === field || !whole ? target.closest(".field") ?? target : target).scrollIntoView();
}

// named is the element that the part of an address names; an address may end with anything.
function named(part) {
  try {
    return document.getElementById(decodeURIComponent(part));
  } catch {
    return null;
  }
}

addEventListener("hashchange", land);
// A link to the part that the address names already changes no address.
addEventListener("click", (e) => {
  const link = e.target.closest("a[href*='#']");
  if (link?.href === location.href) setTimeout(land);
});
land();
// The browser goes to a part last, and takes the focus along, but not from a person who is writing
// elsewhere by then. Back brings the page as it was.
addEventListener("load", () => {
  const at = document.activeElement;
  const elsewhere = at?.matches(fields) && !named(location.hash.slice(1))?.contains(at);
  if (!elsewhere && performance.getEntriesByType("navigation")[0]?.type !== "back_forward") setTimeout(land);
});
