// What a page remembers on this device, for the tab ("sessionStorage") or for good
// ("localStorage"). A browser that allows neither remembers nothing.

export function recall(where, name) {
  try {
    return window[where].getItem(name);
  } catch {
    return null;
  }
}

export function remember(where, name, text) {
  try {
    window[where].setItem(name, text);
  } catch {
    // Not allowed, or no room.
  }
}
