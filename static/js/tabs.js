// The tabs of a page of several sections show where one is: at the section that the
// address names, and at the one in view once a person scrolls on.
const scroller = document.getElementById("job-scroll");
const gap = 24; // below the tabs, within which a section is the one that is read

let named = location.hash; // the section that was gone to, "" after scrolling on
let asked = false;

const sectionOf = (tab) => document.getElementById(tab.hash.slice(1));
const lineUnder = () => document.querySelector(".tabs-line").getBoundingClientRect().bottom + gap;
const tabs = () => [...document.querySelectorAll(".tabs-line a")].filter(sectionOf);

// read is the tab of the last section that begins above the line under the tabs; at the
// end of the page, of the last one.
function read(all) {
  if (scroller.scrollTop > 0 && scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 1) return all.at(-1);
  return all.filter((tab) => sectionOf(tab).getBoundingClientRect().top <= lineUnder()).at(-1) ?? all[0];
}

function inView(tab) {
  const { top, bottom } = sectionOf(tab).getBoundingClientRect();
  return top < scroller.getBoundingClientRect().bottom && bottom > lineUnder();
}

function show() {
  asked = false;
  const all = tabs();
  const gone = all.find((tab) => tab.hash === named && inView(tab));
  if (!gone) named = "";
  const current = gone ?? read(all);
  for (const tab of all) {
    if (tab !== current) tab.removeAttribute("aria-current");
    else if (!tab.hasAttribute("aria-current")) tab.setAttribute("aria-current", "true");
  }
  const nav = current?.parentElement;
  if (nav && nav.scrollWidth > nav.clientWidth) nav.scrollLeft = current.offsetLeft - nav.offsetLeft - gap;
}

function ask() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(show);
}

addEventListener("hashchange", () => {
  named = location.hash;
  ask();
});
// The section that the address names is gone to once more.
document.addEventListener("click", (event) => {
  const tab = event.target.closest(".tabs-line a");
  if (!tab) return;
  named = tab.hash;
  ask();
});
for (const kind of ["wheel", "touchmove"]) {
  scroller.addEventListener(kind, () => {
    named = "";
    ask();
  }, { passive: true });
}
scroller.addEventListener("scroll", ask, { passive: true });
// Back brings the address, and not how far its section was scrolled to.
addEventListener("pageshow", () => {
  const gone = tabs().find((tab) => tab.hash === named);
  if (gone && scroller.scrollTop === 0) sectionOf(gone).scrollIntoView();
  ask();
});
document.addEventListener("htmx:after:swap", show);
