// A job's transcript: it follows the newest steps unless the reader scrolled up or came for one step. Steps come
// by htmx; this looks at what is in the list and never at the messages.

const most = 1000; // steps kept on the page while it follows
const near = 24; // px from the end that still count as the end

const lists = new WeakSet();
const el = (id) => document.getElementById(id);

// A step that is not on the page has a page with those around it.
function wantedStep() {
  return /^#step-\d+$/.test(location.hash) ? location.hash.slice(1) : "";
}

function goToStep() {
  const id = wantedStep();
  const form = document.querySelector("#transcript form");
  if (!id || !form || el(id)) return;
  const url = new URL(form.action);
  const epoch = el("transcript-list").dataset.attempt;
  if (epoch !== "0") url.searchParams.set("epoch", epoch);
  url.searchParams.set("step", id.slice(5));
  url.hash = id;
  location.replace(url);
}

let following = !wantedStep();

function setUp() {
  const list = el("transcript-list");
  if (!list || lists.has(list)) return;
  lists.add(list);
  const body = el("transcript-body");
  following = !wantedStep() && Boolean(el("transcript-live"));
  new MutationObserver(() => settle(list, body)).observe(list, { childList: true });
  body.addEventListener("scroll", () => {
    following = body.scrollTop + body.clientHeight >= body.scrollHeight - near;
    if (following) el("transcript-new").hidden = true;
  }, { passive: true });
  settle(list, body);
}

// settle follows every change of the list: steps that come twice go, the oldest of very many go, and the end is kept
// in sight.
function settle(list, body) {
  const ids = new Set();
  for (const step of [...list.children]) {
    if (ids.has(step.id)) step.remove();
    else ids.add(step.id);
  }
  if (!following) {
    el("transcript-new").hidden = !el("transcript-live") || body.scrollHeight <= body.clientHeight;
    return;
  }
  while (list.children.length > most) list.firstElementChild.remove();
  const first = list.firstElementChild;
  if (list.children.length === most && first) {
    const link = el("transcript-older");
    const url = new URL(link.href);
    url.searchParams.set("before", first.id.slice(5));
    link.href = url;
    link.setAttribute("hx-get", url);
    link.parentElement.hidden = false;
  }
  body.scrollTop = body.scrollHeight;
}

document.addEventListener("click", (event) => {
  if (!event.target.closest("#transcript-new")) return;
  const body = el("transcript-body");
  following = true;
  el("transcript-new").hidden = true;
  body.scrollTop = body.scrollHeight;
  body.focus({ preventScroll: true });
});

document.addEventListener("htmx:after:swap", setUp);
window.addEventListener("hashchange", goToStep);
setUp();
goToStep();
