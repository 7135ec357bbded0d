// The timeline's days are those of UTC as the server sends them; here they
// become the reader's, also across the parts that "Load older" adds.
import { now } from "./time.js";

const list = document.querySelector(".tl");
const thisYear = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const otherYear = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });

const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());

function heading(day) {
  const today = midnight(new Date(now()));
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  if (day.getTime() === today.getTime()) return "Today";
  if (day.getTime() === yesterday.getTime()) return "Yesterday";
  const format = day.getFullYear() === today.getFullYear() ? thisYear : otherYear;
  return format.format(day);
}

// regroup puts one heading before the first event of each day.
function regroup() {
  const heads = [...list.querySelectorAll("[data-day]")];
  let last = null;
  for (const event of list.querySelectorAll(":scope > [data-event]")) {
    const day = midnight(new Date(event.querySelector("time").dateTime));
    if (last?.getTime() === day.getTime()) continue;
    last = day;
    const head = heads[0].cloneNode(true);
    head.querySelector("h2").textContent = heading(day);
    event.before(head);
  }
  for (const head of heads) head.remove();
}

if (list?.querySelector("[data-event]") && new URLSearchParams(location.search).get("by") !== "job") {
  regroup();
  document.addEventListener("htmx:after:swap", regroup);
}
