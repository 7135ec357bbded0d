// Has this browser show messages, or no more. What it is subscribed with is the server's
// key; where that has changed it subscribes again.

const box = document.getElementById("this-browser");
const on = document.getElementById("push-on");
const off = document.getElementById("push-off");
const state = document.getElementById("push-state");

const say = (text) => {
  state.textContent = text;
};

const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

const sameKey = (subscription) => {
  const has = subscription?.options.applicationServerKey;
  const want = bytes(box.dataset.pushKey);
  return has && new Uint8Array(has).every((b, i) => b === want[i]);
};

const send = async (url, subscription) => {
  const { endpoint, keys } = subscription.toJSON();
  const body = new URLSearchParams({ endpoint, p256dh: keys?.p256dh ?? "", auth: keys?.auth ?? "" });
  const answer = await fetch(url, { method: "POST", body, redirect: "manual" });
  if (!answer.ok && answer.type !== "opaqueredirect") throw new Error(`the server answered ${answer.status}`);
};

const show = (subscribed) => {
  on.hidden = subscribed;
  off.hidden = !subscribed;
};

async function subscribe() {
  if ((await Notification.requestPermission()) !== "granted") {
    say("The browser does not allow messages of this site. Its settings can change that.");
    return;
  }
  const worker = await navigator.serviceWorker.register(box.dataset.pushWorker);
  await navigator.serviceWorker.ready;
  const old = await worker.pushManager.getSubscription();
  if (old && !sameKey(old)) await old.unsubscribe();
  const subscription = await worker.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: bytes(box.dataset.pushKey),
  });
  await send(box.dataset.pushUrl, subscription);
  location.reload();
}

async function unsubscribe() {
  const worker = await navigator.serviceWorker.getRegistration();
  const subscription = await worker?.pushManager.getSubscription();
  if (subscription) {
    await subscription.unsubscribe();
    await send(box.dataset.pushForget, subscription);
  }
  location.reload();
}

const guarded = (work) => async () => {
  on.disabled = off.disabled = true;
  say("");
  try {
    await work();
  } catch (error) {
    say(`That did not work: ${error.message}`);
  }
  on.disabled = off.disabled = false;
};

async function begin() {
  if (!("serviceWorker" in navigator) || !("PushManager" in window) || !("Notification" in window)) {
    on.disabled = true;
    say("This browser cannot show messages, or only over https, or once the page is on its home screen.");
    return;
  }
  on.addEventListener("click", guarded(subscribe));
  off.addEventListener("click", guarded(unsubscribe));
  const worker = await navigator.serviceWorker.getRegistration();
  const subscription = await worker?.pushManager.getSubscription();
  show(Boolean(subscription) && sameKey(subscription));
}

if (box) begin();
