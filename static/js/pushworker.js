// Shows messages while no page is open. A later message about the same decision takes the
// place of the earlier one; a tap opens the page that the message is about, and decides
// nothing by itself.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

const ours = (url) => {
  const at = new URL(url, self.location.origin);
  return at.origin === self.location.origin ? at.href : `${self.location.origin}/needs-you`;
};

self.addEventListener("push", (event) => {
  let message = {};
  try {
    message = event.data.json();
  } catch {
    // Nothing that can be read: something waits all the same.
  }
  const options = {
    body: message.body ?? "",
    tag: message.tag ?? "fleetboard",
    silent: Boolean(message.silent),
    renotify: !message.silent,
    data: { url: ours(message.url ?? "/needs-you") },
  };
  event.waitUntil(self.registration.showNotification(message.title ?? "Something waits for you", options));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow(event.notification.data.url));
});
