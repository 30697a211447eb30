// Texts of the interface: one JSON file for each language, loaded when it is needed.

/** Languages of the interface, with their own names. */
export const INTERFACE_LANGUAGES = Object.freeze({
  en: "English",
  de: "Deutsch",
  fr: "Français",
  es: "Español",
  ja: "日本語",
  zh: "中文",
  ko: "한국어",
});
const FALLBACK = "en";

/**
 * Returns the first language that the interface has.
 * @param {readonly (string | null)[]} wanted BCP 47 tags, the best first
 */
export function pickLanguage(wanted) {
  for (const tag of wanted) {
    const base = (tag ?? "").toLowerCase().split("-")[0];
    if (Object.hasOwn(INTERFACE_LANGUAGES, base)) return base;
  }
  return FALLBACK;
}

/**
 * Returns a function that finds a text by its name and fills its placeholders: `{count}` with the value of `count`.
 * A text that is missing is shown as its name.
 * @param {Record<string, string>} texts
 */
export function textFinder(texts) {
  return (name, values = {}) =>
    (texts[name] ?? name).replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key]) : whole));
}

/**
 * Loads the texts of a language.
 * @param {string} folder address of the folder with the language files, such as `new URL("./strings/", import.meta.url)`
 * @param {string} language one of INTERFACE_LANGUAGES
 */
export async function loadStrings(folder, language) {
  const response = await fetch(new URL(`${language}.json`, folder));
  if (!response.ok) throw new Error(`${language}.json: status ${response.status}`);
  return response.json();
}
