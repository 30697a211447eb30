// npm translate 3.1.0 with its engine libre: JSON; shows ``error`` of an answer.
import { given, load, observe, untilRefused } from "./observe.mjs";

const { Translate } = load("translate");
const ask = (path, key, text, options) => new Translate({ engine: "libre", url: given.url + path, key })(text, options);
const QUESTION = "Where is the station?";
let number = 0;

await observe({
  translate: () => ask("/libretranslate/translate", given.good, QUESTION, { from: "en", to: "de" }),
  root: () => ask("/translate", given.good, "Where is the train?", { from: "en", to: "fr" }),
  "no key": () => ask("/libretranslate/translate", undefined, "It is cold.", { from: "en", to: "de" }),
  "wrong key": () => ask("/libretranslate/translate", "nonsense", "It is cold.", { from: "en", to: "de" }),
  "no such pair": () => ask("/libretranslate/translate", given.good, QUESTION, { from: "en", to: "ja" }),
  // It keeps what it has translated, so each text is a new one.
  rate: untilRefused(() =>
    ask("/libretranslate/translate", given.rate, `I have ${++number} books.`, { from: "en", to: "de" }),
  ),
});
