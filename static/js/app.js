// What every page with the shell runs.
import "./comments.js";
import "./drafts.js";
import "./forms.js";
import "./keys.js";
import "./live.js";
import "./needs.js";
import "./notes.js";
import "./palette.js";
import "./send.js";
import "./streams.js";
import "./time.js";
import "./toast.js";
