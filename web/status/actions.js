// What a person can do on the page; each action changes the state.

import { copyText, focusOn } from "../common/document.js";
import { readStored, writeStored } from "../common/storage.js";
import { presentOutcome } from "./logic/replica_list.js";
import { readDocument } from "./logic/runbook.js";
import { leaveRunbook } from "./runbook_history.js";
import { SETTINGS } from "./state.js";

/** Returns the actions of the page; `showLanguage` loads the interface's texts. */
export function createActions({ store, client, local, showLanguage }) {
  async function change() {
    const { action, url } = store.state.change;
    store.update({ isChanging: true });
    let problem = null;
    try {
      await client.change(action, url);
    } catch (error) {
      problem = error;
    }
    const isRefused = problem?.code === "key-required" || problem?.code === "key-refused";
    store.update({
      isChanging: false,
      changed: isRefused ? null : presentOutcome({ action, url, problem }, store.state.status), // which may have come before the answer
      change: isRefused ? store.state.change : null,
      asksForToken: isRefused,
      isTokenRefused: isRefused,
    });
    if (action === "remove" && problem === null) focusLater("replicas-title"); // its row goes away
  }

  return {
    /** Opens or closes the details of a replica, or a list. */
    toggle(id) {
      const open = new Set(store.state.open);
      if (!open.delete(id)) open.add(id);
      store.update({ open });
    },
    showReplica(url) {
      store.update({ open: new Set(store.state.open).add(url) });
      focusLater(`replica-${url}`);
    },
    filterReplicas: (replicaFilter) => store.update({ replicaFilter }),

    askForToken: () => store.update({ asksForToken: true, isTokenRefused: false }),
    useToken(token) {
      const { connection, change: waiting } = store.state;
      store.update({ token, asksForToken: false, isTokenRefused: false, change: token ? waiting : null });
      if (connection === "locked" || !token) client.start();
    },
    closeToken: () => store.update({ asksForToken: false, isTokenRefused: false, change: null }),

    /** Asks for a confirmation, and before that for the token. */
    ask(action, url) {
      store.update({ change: { action, url }, changed: null, asksForToken: !store.state.token });
    },
    confirm(asksAgain) {
      if (asksAgain) store.update({ change: { ...store.state.change, isWarned: true } });
      else if (!store.state.isChanging) change();
    },
    cancel: () => store.update({ change: null }),
    closeChanged: () => store.update({ changed: null }),

    async openRunbook(runbook) {
      store.update({ runbook, copied: null });
      if (runbook === null || store.state.documents.get(runbook.path)) return;
      const document = await client.document(runbook.path).then(readDocument, () => null);
      store.update({ documents: new Map(store.state.documents).set(runbook.path, document) });
    },
    closeRunbook() {
      store.update({ runbook: null });
      leaveRunbook();
    },
    copy: (command) => copyText(command).then(() => store.update({ copied: command })),

    async chooseInterfaceLanguage(language) {
      if (!(await showLanguage(language))) return;
      store.update({ chosenInterfaceLanguage: language });
      writeStored(local, SETTINGS, { ...readStored(local, SETTINGS, {}), interfaceLanguage: language });
    },
  };
}

// After the rendering, in which a dialog gives the focus back.
function focusLater(id) {
  setTimeout(() => focusOn(id));
}
