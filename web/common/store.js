// One state for a page; its views are rendered when it has changed.

/**
 * @template {object} State
 * @param {State} initial
 * @param {(state: State) => void} onChange called once for all changes of one task
 */
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
    /** @param {Partial<State>} changes */
    update(changes) {
      state = { ...state, ...changes };
      if (scheduled) return;
      scheduled = true;
      queueMicrotask(notify);
    },
  };
}
