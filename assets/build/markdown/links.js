// Links of a message: those that lead elsewhere say so and tell the other side nothing; those to a footnote stay here.
import { icon } from "./elements.js";
import { WORDS } from "./words.js";

export function dressLinks(root) {
  for (const dead of root.querySelectorAll("a:not([href])")) dead.replaceWith(...dead.childNodes); // cleaned of where it led
  for (const link of root.querySelectorAll("a[href]")) {
    const address = link.getAttribute("href");
    if (address.startsWith("#")) continue;
    link.toggleAttribute("data-nk-address", !link.textContent.includes(address.replace(/^mailto:/, ""))); // told on paper
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
    if (!/^https?:$/.test(link.protocol) || link.origin === location.origin) continue;
    link.title = WORDS.opensElsewhere(link.host);
    if (link.classList.contains("nk-picture")) link.prepend(icon("image", 14));
    const mark = icon("external-link", 14);
    mark.classList.add("nk-away");
    link.append(mark);
  }
}

/** Whether the click was on a link to a footnote or back: it goes there without changing the page's address. */
export function followNote(event) {
  const link = event.target.closest('a[href^="#"]');
  if (!link) return false;
  event.preventDefault();
  const target = document.getElementById(link.getAttribute("href").slice(1));
  target?.scrollIntoView({ block: "nearest" });
  target?.focus({ preventScroll: true });
  return true;
}
