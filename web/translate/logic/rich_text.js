// HTML reduced to what is worth a translation, and to what may be shown.

const DROPPED = "script, style, meta, link, title, template, noscript, object, embed, iframe, svg, xml";
const KEPT_ATTRIBUTES = new Set(["href", "src", "alt", "title", "lang", "dir", "colspan", "rowspan", "translate", "start", "reversed"]);

const LOADING_ATTRIBUTES = ["href", "src"];
const TAG = /<[a-z][^\s>/]*(?:[^>"']|"[^"]*"|'[^']*')*>/gi;
const STYLE_ATTRIBUTE = /\sstyle\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)/gi;
const STYLE_ELEMENT = /<style\b[\s\S]*?<\/style\s*>/gi;

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

/** Returns HTML without styles. A policy would refuse them one by one, in a document that is only read too. */
export function withoutStyles(html) {
  return html.replace(STYLE_ELEMENT, "").replace(TAG, (tag) => tag.replace(STYLE_ATTRIBUTE, ""));
}

function cleaned(html) {
  // An inert document: nothing in it is loaded or run.
  const parsed = new DOMParser().parseFromString(withoutStyles(html), "text/html");
  for (const element of parsed.querySelectorAll(DROPPED)) element.remove();
  const walker = parsed.createTreeWalker(parsed.body, NodeFilter.SHOW_COMMENT | NodeFilter.SHOW_ELEMENT);
  const comments = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.nodeType === Node.COMMENT_NODE) comments.push(node);
    else cleanAttributes(node);
  }
  for (const comment of comments) comment.remove();
  unwrapPlainSpans(parsed.body);
  return parsed.body;
}

function cleanAttributes(element) {
  for (const { name, value } of [...element.attributes]) {
    if (!KEPT_ATTRIBUTES.has(name) || /^\s*(javascript|data):/i.test(value)) element.removeAttribute(name);
  }
}

function unwrapPlainSpans(body) {
  for (const element of body.querySelectorAll("span, font, o\\:p")) {
    if (element.attributes.length === 0) element.replaceWith(...element.childNodes);
  }
}
