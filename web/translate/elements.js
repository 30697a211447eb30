// Changes of the text that Ctrl+Z takes back.

const TEXT = "source-text";

/**
 * Puts a text in place of the whole text; the focus stays where it is.
 *
 * Beside a modal dialog the field takes no focus, and a command would change the dialog's field.
 */
export function replaceText(text) {
  const area = document.getElementById(TEXT);
  const focused = document.activeElement;
  area.focus({ preventScroll: true });
  if (document.activeElement !== area) {
    area.value = text;
    return;
  }
  area.select();
  insertText(area, text);
  focused?.focus({ preventScroll: true });
}

/** Puts a text in place of what is selected in a field that has the focus. */
export function insertText(area, text) {
  const { value, selectionStart, selectionEnd } = area;
  const wanted = value.slice(0, selectionStart) + text + value.slice(selectionEnd);
  if (value === wanted) return;
  // As HTML, because Chromium takes a minute for four thousand lines of text; the field makes the same text of it.
  const html = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const isInserted = text === "" ? document.execCommand("delete") : document.execCommand("insertHTML", false, html);
  if (!isInserted) document.execCommand("insertText", false, text);
  // A browser without these commands, or one that made another text of it.
  if (area.value !== wanted) area.value = wanted;
}
