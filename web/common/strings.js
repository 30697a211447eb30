// Texts of the interface: one JSON file for each language, loaded when it is needed; English is part of the pages.

/** Languages of the interface. */
export const INTERFACE_LANGUAGES = Object.freeze(["en", "de", "fr", "es", "ja", "zh", "ko"]);
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
    if (INTERFACE_LANGUAGES.includes(base)) return base;
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

/** Returns a language's name in the interface's language, such as "German". */
export function languageName(tag, interfaceLanguage) {
  try {
    const name = new Intl.DisplayNames([interfaceLanguage], { type: "language", fallback: "none" }).of(tag);
    if (!name) return tag;
    return name.charAt(0).toLocaleUpperCase(interfaceLanguage) + name.slice(1);
  } catch {
    return tag; // no BCP 47 tag
  }
}

/** Returns a function that puts a language's texts into the state, and returns whether they came: else those before stay, or English. */
export function languageShower({ english, folder, store }) {
  let wanted = "";
  return async function showLanguage(language) {
    wanted = language;
    const texts = language === FALLBACK ? english : await loadTexts(new URL(`${language}.json`, folder), WAITS_MS);
    if (wanted !== language) return false;
    store.update({ lostLanguage: texts ? null : language });
    if (texts || !store.state.findText) {
      const interfaceLanguage = texts ? language : FALLBACK;
      document.documentElement.lang = interfaceLanguage;
      store.update({ findText: textFinder(texts ?? english), interfaceLanguage });
    }
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
