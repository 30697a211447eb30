// HTML reduced to what is worth a translation, and to what may be shown.

const DROPPED = "script, style, meta, base, link, title, template, noscript, object, embed, iframe, svg, xml";
const KEPT_ATTRIBUTES = new Set(["href", "src", "alt", "title", "lang", "dir", "colspan", "rowspan", "translate", "start", "reversed"]);
const LOADING_ATTRIBUTES = ["href", "src"];
const STYLE_ATTRIBUTE = /\sstyle\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)/gi;
const STYLE_START = /^<style[\s>/]/i;
const BASE_START = /^<base[\s>/]/i;

/** Returns the HTML of a clipboard without scripts, styles, comments and classes. */
export function cleanHtml(html) {
  return cleaned(html).innerHTML.trim();
}

/** Returns translated HTML that a frame can show: it loads nothing and leads nowhere. */
export function previewHtml(html) {
  const body = cleaned(html);
  for (const element of body.querySelectorAll("[href], [src]")) {
    for (const name of LOADING_ATTRIBUTES) element.removeAttribute(name);
  }
  return body.innerHTML;
}

/** Returns HTML without styles and its base. A policy would refuse them one by one, in a document that is only read too. */
export function withoutRefusedTags(html) {
  const parts = [];
  let at = 0;
  for (let open = html.indexOf("<"); open >= 0; open = html.indexOf("<", at)) {
    const end = tagEnd(html, open);
    if (end < 0) break;
    parts.push(html.slice(at, open));
    const tag = html.slice(open, end);
    const isStyle = STYLE_START.test(tag);
    if (!isStyle && !BASE_START.test(tag)) parts.push(tag.replace(STYLE_ATTRIBUTE, ""));
    at = isStyle ? closingStyle(html, end) : end;
  }
  return parts.join("") + html.slice(at);
}

// The end of the tag that opens here, past quoted values; that of "<" if none does; -1 without an end.
function tagEnd(html, open) {
  if (!/[a-z]/i.test(html.charAt(open + 1))) return open + 1;
  for (let at = open + 1; at < html.length; at += 1) {
    const unit = html[at];
    if (unit === ">") return at + 1;
    if (unit === '"' || unit === "'") {
      at = html.indexOf(unit, at + 1);
      if (at < 0) return -1;
    }
  }
  return -1;
}

// An element that is never closed takes the rest, as in browsers.
function closingStyle(html, start) {
  const closing = /<\/style/gi;
  closing.lastIndex = start;
  return closing.exec(html)?.index ?? html.length;
}

function cleaned(html) {
  // An inert document: nothing in it is loaded or run.
  const parsed = new DOMParser().parseFromString(withoutRefusedTags(html), "text/html");
  for (const element of parsed.querySelectorAll(DROPPED)) element.remove();
  for (const element of parsed.body.querySelectorAll("*")) {
    for (const { name, value } of [...element.attributes]) {
      if (!KEPT_ATTRIBUTES.has(name) || /^\s*(javascript|data):/i.test(value)) element.removeAttribute(name);
    }
  }
  const comments = parsed.createNodeIterator(parsed.body, NodeFilter.SHOW_COMMENT);
  for (let comment = comments.nextNode(); comment; comment = comments.nextNode()) comment.remove();
  for (const element of parsed.body.querySelectorAll("span, font, o\\:p")) {
    if (element.attributes.length === 0) element.replaceWith(...element.childNodes);
  }
  return parsed.body;
}
