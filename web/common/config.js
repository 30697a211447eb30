// What the server says about itself in the page's HTML.

/** @returns {{version: string, max_text_chars: number, keys: boolean}} */
export function readConfig(page = document) {
  return JSON.parse(page.querySelector('meta[name="pairway"]').content);
}
