// One state for a page; its views are rendered when it has changed.

/** Returns a store; `onChange` is called once for all changes of one task. */
export function createStore(initial, onChange) {
  let state = initial;
  let scheduled = false;
  const notify = () => {
    scheduled = false;
    onChange(state);
  };
  return {
    get state() {
      return state;
    },
    update(changes) {
      state = { ...state, ...changes };
      if (scheduled) return;
      scheduled = true;
      queueMicrotask(notify);
    },
  };
}
