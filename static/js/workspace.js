// A page acts only in the workspace that it was made in. htmx says which one by
// a header (hx-headers on the body), a plain form by a field: the server wrote
// it into the forms of the page, this adds it to those that came later.
const workspace = document.body.dataset.workspace;
const source = document.getElementById("live");
const note = document.getElementById("stale-note");
const conflict = 409;

if (workspace) {
  document.addEventListener("formdata", (event) => {
    if (event.target.method === "post") event.formData.set("in_workspace", workspace);
  });
}

// Its stream is refused after a switch in another tab, and comes back with a
// switch back.
if (source && note) {
  const stale = (status) => {
    if (status !== conflict) return;
    document.querySelector("#main .top")?.after(note);
    note.hidden = false;
  };
  source.addEventListener("htmx:sse:error", (event) => stale(event.detail.status));
  source.addEventListener("htmx:response:error", (event) => stale(event.detail.ctx?.response?.status));
  source.addEventListener("htmx:sse:after:connection", () => {
    note.hidden = true;
  });
}
