// Keyboards go on where they were: when a message gives way to another version of itself, the same button of that one has the
// focus; where there is none, the conversation has.
const LABELLED = (label) => `[aria-label="${CSS.escape(label)}"]`;

export function focusIn(message, label) {
  const button = label && message?.querySelector(LABELLED(label));
  const useful = button?.disabled ? button.parentElement.querySelector("button:enabled") : button;
  (useful ?? document.getElementById("chat"))?.focus({ preventScroll: true });
}

// To be called before the message is taken away.
export function focusWhatTakesItsPlace(message) {
  if (!message.contains(document.activeElement)) return;
  const list = message.parentElement;
  const place = [...list.children].indexOf(message);
  const label = document.activeElement.ariaLabel;
  setTimeout(() => {
    if (document.activeElement === document.body) focusIn(list.children[place], label);
  });
}
