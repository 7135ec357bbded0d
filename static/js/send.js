// Plain forms are sent in place: a refused one comes back into this page, and one
// that got no answer stays as it was typed. Without scripts the browser sends them, and so it
// does before htmx is there, which comes last.
import { release } from "./forms.js";
import { toast } from "./toast.js";

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || "native" in form.dataset || !window.htmx) return;
  event.preventDefault();
  htmx.ajax("POST", form.action, { source: form, event, target: "#main", select: "#main", swap: "outerMorph" });
});

// The part of the next page that a form leads to is known to the form alone.
document.addEventListener("htmx:before:response", (event) => {
  const { sourceElement: form, response } = event.detail.ctx;
  const part = form.matches?.("form") && new URL(form.action).hash;
  const to = response.headers.get("HX-Redirect");
  if (!part || !to) return;
  event.preventDefault();
  history.replaceState(null, "", to + part);
  location.reload();
});

// A request of a person that got no answer. What a dialog asked for is shown again.
document.addEventListener("htmx:error", (event) => {
  const { ctx, error } = event.detail;
  const from = ctx?.sourceElement;
  if (!from || from.id === "live" || ctx.request?.method === "GET" || error?.name === "AbortError") return;
  if (!from.matches("form:has(textarea, input:not([type=hidden]))")) {
    toast("Nothing was changed", "The server did not answer. Try again when the page is live.");
    return;
  }
  const dialog = from.closest("dialog");
  if (dialog && !dialog.open) dialog.showModal();
  note(from);
});
document.addEventListener("htmx:before:request", (event) => {
  event.target.querySelector?.("[data-unsent]")?.remove();
});

// A form that is answered here, by a toast for instance, can be sent again.
document.addEventListener("htmx:finally:request", (event) => {
  const { ctx } = event.detail;
  if (ctx.sourceElement.matches?.("form") && !ctx.keepIndicators) release(ctx.sourceElement);
});

// note says above the form's buttons that it was not sent.
function note(form) {
  form.querySelector("[data-unsent]")?.remove();
  const line = document.getElementById("unsent-template").content.cloneNode(true);
  const buttons = [...form.querySelectorAll("button:not([type=button])")].at(-1)?.parentElement;
  if (buttons && buttons !== form) buttons.before(line);
  else form.append(line);
}
