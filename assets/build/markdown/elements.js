// Small elements of the page, made without HTML where text of others is in them.

export function make(tag, className, attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** A symbol of the page's own sheet of icons, see ui/theme.py. */
export function icon(name, sizePx) {
  const holder = document.createElement("template");
  holder.innerHTML = `<svg class="nk-i nk-i-${sizePx}" aria-hidden="true"><use href="#nk-${name}"/></svg>`;
  return holder.content.firstElementChild;
}

export function iconButton(name, label, action) {
  const button = make("button", "nk-ib nk-ib-sm", { type: "button", "data-nk-code": action });
  button.append(icon(name, 16));
  relabel(button, label);
  return button;
}

export function relabel(button, label, iconName) {
  button.setAttribute("aria-label", label);
  button.title = label;
  if (iconName) button.querySelector("use").setAttribute("href", `#nk-${iconName}`);
}
