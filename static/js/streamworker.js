// The streams of all tabs of a browser, in a SharedWorker. A page sends { open: id, … } and
// { close: id }, and gets { id, … } as js/connections.js says.
import { Connections } from "./connections.js";

const connections = new Connections();
let ports = 0;

self.onconnect = ({ ports: [port] }) => {
  const number = ports++;
  const mine = new Set();
  const close = (id) => {
    mine.delete(id);
    connections.close(`${number} ${id}`);
  };
  port.addEventListener("message", ({ data }) => {
    if (data.close !== undefined) {
      close(data.close);
      return;
    }
    mine.add(data.open);
    connections.open(`${number} ${data.open}`, data, (message) => {
      if (message.end) mine.delete(data.open);
      port.postMessage({ id: data.open, ...message });
    });
  });
  port.addEventListener("close", () => [...mine].forEach(close)); // its tab is gone without a word
  port.start();
};
