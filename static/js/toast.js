// Toasts go after six seconds, unless they are bad news, and those that offer an undo
// after ten; a pointer or the focus on one keeps it.

const host = document.getElementById("toasts");
const stay = 6000;

// toast shows a message of the browser's own.
export function toast(title, text) {
  const copy = document.getElementById("toast-template").content.cloneNode(true);
  copy.querySelector("[data-title]").textContent = title;
  copy.querySelector("[data-text]").textContent = text;
  host.append(copy);
}

// announce says something to screen readers only.
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

const undo = 10; // seconds

function watch(box) {
  let timer;
  const start = () => {
    clearTimeout(timer);
    if (box.matches(":hover, :focus-within")) return;
    timer = setTimeout(() => box.remove(), stay);
  };
  const stop = () => clearTimeout(timer);
  for (const name of ["pointerenter", "focusin"]) box.addEventListener(name, stop);
  for (const name of ["pointerleave", "focusout"]) box.addEventListener(name, start);
  start();
}

// count shows how long an undo is offered; the time stands still under a pointer and
// with the focus. An undo that is sent takes its toast away.
function count(box) {
  const place = box.querySelector("[data-left]");
  let left = undo;
  place.textContent = left + " s";
  const timer = setInterval(() => {
    if (!box.isConnected) clearInterval(timer);
    if (box.matches(":hover, :focus-within")) return;
    left -= 1;
    place.textContent = left + " s";
    if (left <= 0) box.remove();
  }, 1000);
  box.addEventListener("htmx:finally:request", () => box.remove());
}

// latest offers one undo at a time: the newest.
function latest(box) {
  for (const other of host.querySelectorAll("[data-toast]:has([data-undo])")) if (other !== box) other.remove();
  count(box);
}

function adopt(box) {
  if (box.dataset.seen) return;
  box.dataset.seen = "1";
  if (box.querySelector("[data-undo]")) latest(box);
  else if (box.dataset.toast !== "bad") watch(box);
  while (host.children.length > 4) host.firstElementChild.remove();
}

if (host) {
  new MutationObserver(() => [...host.children].forEach(adopt)).observe(host, { childList: true });
  [...host.children].forEach(adopt);
  host.addEventListener("click", (event) => {
    if (event.target.closest("[data-close]")) event.target.closest("[data-toast]").remove();
  });
}
