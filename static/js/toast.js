// Toasts go after six seconds, unless they are bad news; a pointer or the
// focus on one keeps it.

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

function adopt(box) {
  if (box.dataset.seen) return;
  box.dataset.seen = "1";
  if (box.dataset.toast !== "bad") watch(box);
  while (host.children.length > 4) host.firstElementChild.remove();
}

if (host) {
  new MutationObserver(() => [...host.children].forEach(adopt)).observe(host, { childList: true });
  [...host.children].forEach(adopt);
  host.addEventListener("click", (event) => {
    if (event.target.closest("[data-close]")) event.target.closest("[data-toast]").remove();
  });
}
