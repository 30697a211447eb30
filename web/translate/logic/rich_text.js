// HTML of the clipboard, reduced to what is worth a translation.

const DROPPED = "script, style, meta, link, title, template, noscript, object, embed, iframe, svg, xml";
const KEPT_ATTRIBUTES = new Set(["href", "src", "alt", "title", "lang", "dir", "colspan", "rowspan", "translate", "start", "reversed"]);

/** Returns clean HTML: no scripts, styles, comments or classes. */
export function cleanHtml(html) {
  // An inert document: nothing in it is loaded or run.
  const parsed = new DOMParser().parseFromString(html, "text/html");
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
  return parsed.body.innerHTML.trim();
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
