// The streams of this page come over connections that all tabs share. htmx asks for a stream by
// fetch; what it gets is an answer whose body is fed from the shared worker, or, in a browser
// without one, from connections of the page's own.
import { Connections } from "./connections.js";

const mostBehind = 1 << 20; // bytes that wait for a page that holds its stream back
const silence = 60000; // ms without a message, after which the worker is taken for dead
const plain = window.fetch.bind(window);
const encoder = new TextEncoder();
const open = new Map(); // the page's streams by id
let ids = 0;
let source = null; // where streams come from: { open(id, request), close(id) }

window.fetch = (resource, options) => {
  const isStream = typeof resource === "string" && /^\/live[/?]/.test(resource);
  return isStream ? fetchStream(resource, options) : plain(resource, options);
};

function fetchStream(url, { headers, signal }) {
  return new Promise((resolve, reject) => {
    const id = ids++;
    let body;
    let timer;
    const end = () => {
      clearTimeout(timer);
      if (open.delete(id)) source.close(id);
    };
    const awake = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        source = null;
        take({ end: true });
      }, silence);
    };
    const stream = new ReadableStream({ start: (controller) => (body = controller), cancel: end },
      new ByteLengthQueuingStrategy({ highWaterMark: mostBehind }));
    const take = (message) => {
      awake();
      if (message.head) resolve(new Response(message.head.status === 200 ? stream : message.head.body, message.head));
      if (message.text) body.enqueue(encoder.encode(message.text));
      // One that is far behind opens its stream again where it stands once it reads on.
      if (message.end || body.desiredSize < 0) {
        end();
        reject(new TypeError("The stream ended before its answer"));
        body.close();
      }
    };
    signal?.addEventListener("abort", () => {
      if (!open.has(id)) return;
      end();
      reject(signal.reason);
      body.error(signal.reason);
    });
    const request = { url, last: headers["Last-Event-ID"] ?? "", workspace: headers["X-Workspace"] ?? "" };
    open.set(id, { take, request });
    source ??= shared() ?? own();
    source.open(id, request);
    awake();
  });
}

// shared returns the worker of all tabs, null where there is none. One that does not come up is
// replaced by connections of the page's own.
function shared() {
  if (!window.SharedWorker) return null;
  const worker = new SharedWorker(new URL("./streamworker.js", import.meta.url), { type: "module" });
  worker.onerror = () => {
    source = own();
    for (const [id, { request }] of open) source.open(id, request);
  };
  worker.port.onmessage = ({ data }) => open.get(data.id)?.take(data);
  return {
    open: (id, request) => worker.port.postMessage({ open: id, ...request }),
    close: (id) => worker.port.postMessage({ close: id }),
  };
}

function own() {
  const connections = new Connections();
  return {
    open: (id, request) => connections.open(id, request, (message) => open.get(id)?.take(message)),
    close: (id) => connections.close(id),
  };
}

window.addEventListener("pagehide", () => {
  for (const { take } of [...open.values()]) take({ end: true });
});
