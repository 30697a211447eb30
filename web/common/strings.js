// Texts of the interface: one JSON file for each language, loaded when it is needed; English is part of the pages.

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
/** A lost file is tried again after these times. */
const WAITS_MS = [500, 1500];
const LIMIT_MS = 5000;

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
 */
export function textFinder(texts) {
  return (name, values = {}) =>
    (texts[name] ?? name).replace(/\{(\w+)\}/g, (whole, key) => (key in values ? String(values[key]) : whole));
}

/** Returns a function that shows a language, and returns whether it could be loaded: else the one before stays, or English. */
export function languageShower({ english, folder, store, onTexts }) {
  let wanted = "";
  let shown = "";
  return async function showLanguage(language) {
    wanted = language;
    const texts = language === FALLBACK ? english : await loadTexts(new URL(`${language}.json`, folder), WAITS_MS);
    if (wanted !== language) return false;
    if (texts || !shown) {
      shown = texts ? language : FALLBACK;
      document.documentElement.lang = shown;
      onTexts(textFinder(texts ?? english), shown);
    }
    store.update({ interfaceLanguage: shown, lostLanguage: texts ? null : language });
    return texts !== null;
  };
}

async function loadTexts(address, [wait, ...waits]) {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(LIMIT_MS) });
    if (response.ok) return await response.json();
  } catch {
    // tried again like any answer that is no text
  }
  if (wait === undefined) return null;
  await new Promise((resolve) => setTimeout(resolve, wait));
  return loadTexts(address, waits);
}
