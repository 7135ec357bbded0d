// What every page with the shell runs.
import "./forms.js";
import "./keys.js";
import "./live.js";
import "./palette.js";
import "./time.js";
import "./toast.js";
