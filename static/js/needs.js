// What waits for a person shows in the title and in the icon of the tab too. The
// server writes both; live changes bring the count, and some of them a new title.

const icon = document.getElementById("icon");

function show() {
  const count = document.getElementById("nav-needs-n")?.dataset.count;
  if (count === undefined) return;
  const title = document.title.replace(/^\(\d+\+?\) /, "");
  const now = count === "" ? title : `(${count}) ${title}`;
  if (document.title !== now) document.title = now;
  const href = count === "" ? icon.dataset.calm : icon.dataset.needed;
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
}

document.addEventListener("htmx:finally:swap", show);
