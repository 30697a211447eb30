// The state of a page, and what the browser keeps of it. Storage may be off, full, or hold what another version wrote.

/** Returns the JSON value of a name, or the fallback. */
export function readStored(storage, name, fallback) {
  try {
    return JSON.parse(storage.getItem(name)) ?? fallback;
  } catch {
    return fallback;
  }
}

/** Keeps a value under a name, or removes it (null), where that is possible. */
export function writeStored(storage, name, value) {
  try {
    if (value === null) storage.removeItem(name);
    else storage.setItem(name, JSON.stringify(value));
  } catch {
    // it lives as long as the page
  }
}

/** Returns the browser's storage, or null where a page may not use it. */
export function openStorage(kind) {
  try {
    return window[kind];
  } catch {
    return null;
  }
}

/** Returns a store of one state for a page; `onChange` is called once for all changes of one task. */
export function createStore(initial, onChange) {
  let state = initial;
  let scheduled = false;
  return {
    get state() {
      return state;
    },
    update(changes) {
      state = { ...state, ...changes };
      if (scheduled) return;
      scheduled = true;
      queueMicrotask(() => {
        scheduled = false;
        onChange(state);
      });
    },
  };
}
