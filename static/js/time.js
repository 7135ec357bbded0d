// Keeps the relative times of the page fresh, by the server's clock, and shows
// moments in the reader's zone and locale. The words are those of views/ui/when.go.

const skew = Date.now() - (Date.parse(document.body.dataset.now ?? "") || Date.now());

export function now() {
  return Date.now() - skew;
}

export function duration(ms) {
  const s = Math.floor(Math.max(ms, 0) / 1000);
  if (s < 60) return s + "s";
  if (s < 3600) return Math.floor(s / 60) + "m";
  if (s < 86400) return two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "m");
  if (s < 3 * 86400) return two(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h");
  return Math.floor(s / 86400) + "d";
}

function clock(ms) {
  const s = Math.floor(Math.max(ms, 0) / 1000);
  if (s >= 60 && s < 3600) return two(Math.floor(s / 60), "m", s % 60, "s");
  return duration(ms);
}

function two(a, au, b, bu) {
  return b === 0 ? a + au : `${a}${au} ${b}${bu}`;
}

const format = (options) => new Intl.DateTimeFormat(undefined, options);
const timeOfDay = format({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minute = format({ hour: "2-digit", minute: "2-digit" });
const dayAndTime = format({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const dayOnly = format({ day: "numeric", month: "short" });
const date = format({ dateStyle: "medium", timeStyle: "short" });
const yearAndDay = format({ dateStyle: "medium" });
const whole = format({ dateStyle: "medium", timeStyle: "long" });
// Days and months of a calendar are the same in every zone.
const calendarDay = format({ day: "numeric", month: "short", timeZone: "UTC" });
const calendarDate = format({ dateStyle: "medium", timeZone: "UTC" });
const month = format({ month: "short", year: "numeric", timeZone: "UTC" });

const sameDay = (a, b) => yearAndDay.format(a) === yearAndDay.format(b);
const sameYear = (a, b) => new Date(a).getFullYear() === new Date(b).getFullYear();
export const timeToday = (at) => minute.format(at);
const day = (at, t) => (sameYear(at, t) ? dayAndTime : date).format(at);

const write = {
  ago: (at, t) => duration(t - at) + " ago",
  for: (at, t) => duration(t - at),
  in: (at, t) => (at <= t ? "now" : "in " + duration(at - t)),
  left: (at, t) => clock(at - t),
  run: (at, t) => clock(t - at),
  clock: (at) => timeOfDay.format(at),
  day,
  only: (at, t) => (sameYear(at, t) ? dayOnly : yearAndDay).format(at),
  date: (at) => date.format(at),
  calendar: (at, t) => (new Date(at).getUTCFullYear() === new Date(t).getUTCFullYear() ? calendarDay : calendarDate).format(at),
  "calendar-date": (at) => calendarDate.format(at),
  month: (at) => month.format(at),
  time: timeToday,
  until: (at, t) => (sameDay(at, t) ? timeToday(at) : day(at, t)),
};

const days = new Set(["calendar", "calendar-date", "month"]);

function refresh() {
  const t = now();
  for (const el of document.querySelectorAll("[data-rel]")) {
    const at = Date.parse(el.dateTime ?? el.dataset.at); // texts of drawings are no time elements
    const text = write[el.dataset.rel]?.(at, t);
    if (!text) continue;
    if (el.textContent !== text) el.textContent = text;
    if (!el.dateTime) continue;
    const title = (days.has(el.dataset.rel) ? calendarDate : whole).format(at);
    if (el.title !== title) el.title = title;
  }
  for (const el of document.querySelectorAll("[data-due][hidden]")) el.hidden = Date.parse(el.dataset.due) > t;
}

refresh();
setInterval(() => {
  if (!document.hidden) refresh();
}, 1000);
document.addEventListener("visibilitychange", refresh);
document.addEventListener("htmx:after:swap", refresh);
