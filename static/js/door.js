// The pages without a shell: log in, set up, errors.
import "./forms.js";
import "./send.js";

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-reveal]");
  if (!button) return;
  const field = document.getElementById(button.dataset.reveal);
  const show = field.type === "password";
  field.type = show ? "text" : "password";
  button.setAttribute("aria-pressed", String(show));
  button.setAttribute("aria-label", show ? "Hide the password" : "Show the password");
  field.focus();
});
