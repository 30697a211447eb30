// What clients in Node.js throw where nothing can translate: their last class of errors.
import { given, load, observe } from "./observe.mjs";

const { DeepLClient } = load("deepl-node");
const { Translate } = load("translate");
const options = { serverUrl: given.url, maxRetries: 1, minTimeout: 60_000 };
const libre = { engine: "libre", url: given.url + "/libretranslate/translate", key: given.good };
const text = "Where is the station?";

// All at once, because each answer waits for the fault to pass.
const calls = {
  "deepl-node": new DeepLClient(given.good, options).translateText(text, "en", "de"),
  translate: new Translate(libre)(text, { from: "en", to: "de" }),
};
await Promise.allSettled(Object.values(calls));
await observe(Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, () => call])));
