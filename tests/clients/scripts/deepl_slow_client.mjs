// deepl-node 1.28.0 as it comes: it waits 5 s for an answer, then asks again.
import { given, load, observe } from "./observe.mjs";

const { DeepLClient } = load("deepl-node");
const client = new DeepLClient(given.good, { serverUrl: given.url + "/deepl" });

await observe({ slow: async () => (await client.translateText(given.text, "en", "de")).text });
