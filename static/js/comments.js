// A click on the number of a line begins a comment there; a reply has no place of its own.
import { discard } from "./drafts.js";
import { recall, remember } from "./memory.js";

// A comment that was taken leads to itself, and is no draft any more.
const sent = "comment-sent";
const name = recall("sessionStorage", sent);
remember("sessionStorage", sent, "");
if (name && location.hash.startsWith("#comment-")) discard(name);
document.addEventListener("submit", (event) => {
  if (event.target.closest("#dlg-comment") && event.target.dataset.draft) remember("sessionStorage", sent, event.target.dataset.draft);
});

const dialog = () => document.getElementById("dlg-comment");

function aim(reply, place) {
  const form = dialog()?.querySelector("form.dlg-f");
  if (!form) return null;
  form.elements.in_reply_to.value = reply;
  form.querySelector("[data-comment-at]").hidden = Boolean(reply);
  form.querySelector("h3").textContent = reply ? "Reply on " + place : "Comment on a line";
  return form;
}

// The button opens the dialog itself; here it only learns what for.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[commandfor=dlg-comment][command=show-modal]");
  if (button) {
    aim(button.dataset.commentReply ?? "", button.dataset.commentPlace ?? "");
    return;
  }
  const cell = event.target.closest?.("td.d-n[data-line]");
  const form = cell && aim("", "");
  if (!form) return;
  form.elements.path.value = cell.closest("[data-path]").dataset.path;
  form.elements.line.value = cell.dataset.line;
  form.elements.side.value = cell.dataset.side;
  dialog().showModal();
  form.elements.text.focus();
}, true);
