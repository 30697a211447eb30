// npm libretranslate 1.0.1: reads /languages first and compares codes exactly; the key is in apiKey; no status is read.
import { given, load, observe } from "./observe.mjs";

const { translate } = load("libretranslate");
const apiurl = given.url + "/libretranslate";
const ask = (query, source, target, apiKey, more = {}) => translate({ query, source, target, apiurl, apiKey, ...more });

await observe({
  translate: () => ask("Where is the station?", "en", "de", given.good),
  auto: () => ask("Wo ist der Bahnhof?", undefined, "en", given.good),
  pivot: () => ask("Wo ist der Bahnhof?", "de", "fr", given.good),
  html: () => ask("<p>Where is the <b>station</b>?</p>", "en", "de", given.good, { format: "html" }),
  "wrong key": () => ask("Where is the station?", "en", "de", "nonsense"),
  "no such target": () => ask("Where is the station?", "en", "ja", given.good),
});
