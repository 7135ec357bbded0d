// The page of messages: a thread is shown from its end and follows it, and what it holds
// for the reader is acknowledged once it is looked at.

const scroll = document.getElementById("msg-scroll");
const near = 48; // pixels from the end that count as being there

const atEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < near;
const toEnd = () => {
  scroll.scrollTop = scroll.scrollHeight;
};

// seen sends the form that marks the thread as read, once each, while the page is shown.
const sent = new Set();
function seen() {
  const form = document.querySelector("form[data-seen]");
  if (!form || document.hidden || sent.has(form.id)) return;
  sent.add(form.id);
  htmx.ajax("POST", form.action, { source: form, swap: "none" });
}

if (scroll && document.getElementById("msg-ol")) {
  const named = location.hash && document.querySelector(location.hash);
  if (named) named.scrollIntoView({ block: "center" });
  else toEnd();
  let follows = !named;
  scroll.addEventListener("scroll", () => {
    follows = atEnd();
  });
  document.addEventListener("htmx:after:swap", () => {
    if (follows) toEnd();
    seen();
  });
  document.addEventListener("visibilitychange", seen);
  addEventListener("DOMContentLoaded", seen);
  seen();
}
