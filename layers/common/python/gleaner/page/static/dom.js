/** Builds DOM nodes. Text is only ever set as text. */

const present = (children) => children.flat().filter(Boolean);

/**
 * An element. `properties` are attributes, or listeners where the name begins with "on"; null and false are left out.
 * Children are nodes or texts.
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

/** Replaces all that a node holds. */
export function fill(node, ...children) {
  node.replaceChildren(...present(children));
  return node;
}

/** A button of one label, in the background unless its class says otherwise. */
export function button(label, onclick, properties = { class: "quiet" }) {
  return el("button", { type: "button", onclick, ...properties }, label);
}

/** A link to a page of the web, which opens beside this one; plain text if the address is not one. */
export function link(url, ...children) {
  let address = null;
  try {
    address = new URL(url);
  } catch {
    return el("span", {}, ...children);
  }
  if (!["https:", "http:", "mailto:", "ftp:"].includes(address.protocol)) return el("span", {}, ...children);
  return el("a", { href: address.href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children);
}
