// What a person can do with an API key, and the glossaries that come with it.

import { writeStored } from "../common/storage.js";
import { needsKey } from "./logic/messages.js";
import { STORED } from "./state.js";

const OPERATE = "operate";

/** Returns these actions of the page; the parts are those of all actions. */
export function createKeyActions({ store, translator, client, local, session }) {
  /** At once, so that a wrong key is refused before somebody types. A key that can change the fleet is never stored. */
  async function checkKey(key, isKept) {
    try {
      const { scopes } = (await client.usage()).key;
      if (store.state.key === key && !scopes.includes(OPERATE)) writeStored(isKept ? local : session, STORED.key, key);
    } catch (problem) {
      if (needsKey(problem) && store.state.key === key) store.update({ asksForKey: true, isKeyRefused: true });
    }
  }

  async function loadGlossaries() {
    const { config, key } = store.state;
    if (!config.keys || !key) return;
    const glossaries = await client.glossaries().catch(() => []);
    if (store.state.key !== key) return;
    store.update({ glossaries });
    translator.sendSoon();
  }

  return {
    askForKey: () => store.update({ asksForKey: true, isKeyRefused: false }),
    useKey(key, isKept) {
      writeStored(local, STORED.key, null);
      writeStored(session, STORED.key, null);
      store.update({ key, isKeyKept: isKept && key !== "", asksForKey: false, isKeyRefused: false, isKeyDeclined: false, glossaries: [] });
      if (!key) return;
      checkKey(key, isKept);
      if (store.state.panel === "terms" || store.state.glossary) loadGlossaries();
      if (store.state.text.trim()) translator.tryAgain();
    },
    closeKey: () => store.update({ asksForKey: false, isKeyRefused: false, isKeyDeclined: true }),
    loadGlossaries,
  };
}
