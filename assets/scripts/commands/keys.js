// Keys, as ui/shortcuts.py spells them: which were pressed, whether they are meant here, and how they are written for people.
const IS_MAC = /mac|iphone|ipad/i.test(navigator.userAgentData?.platform || navigator.platform);
const MAC_SIGNS = { mod: "⌘", shift: "⇧", alt: "⌥" };
const SIGNS = { arrowup: "↑", arrowdown: "↓", escape: "Esc", enter: "↵" };
export const FIELD = "textarea, select, [contenteditable=''], [contenteditable='true'], input:not([type=button], [type=submit], [type=checkbox], [type=radio], [type=file])";

const composer = () => document.querySelector(".nk-composer textarea");

/** "mod+shift+o". "" for what types a character in some way. */
export function pressed(event) {
  if (event.isComposing || event.keyCode === 229 || event.getModifierState("AltGraph")) return "";
  if (IS_MAC ? event.ctrlKey : event.metaKey) return "";
  const mod = IS_MAC ? event.metaKey : event.ctrlKey;
  let key = event.key.toLowerCase();
  if (mod && event.code.startsWith("Key") && !/^[a-z]$/.test(key)) key = event.code.slice(3).toLowerCase(); // ц is on the key of w
  const isSign = key.length === 1 && !/[a-z]/.test(key); // on some keyboards it takes Shift, on others not
  return [mod && "mod", event.altKey && "alt", event.shiftKey && !isSign && "shift", key].filter(Boolean).join("+");
}

export function isMeantHere(where) {
  const field = document.activeElement?.closest(FIELD);
  if (where === "anywhere") return true;
  if (where === "empty-composer") return !!field && field === composer() && !field.value;
  return !field || (where === "composer" && field === composer()) || (where === "empty" && !(field.value ?? field.textContent));
}

export function signs(keys) {
  const names = keys === "mod++" ? ["mod", "+"] : keys.split("+");
  return names.map((name) => (IS_MAC && MAC_SIGNS[name]) || SIGNS[name] || (name.length > 1 ? window.nkWords.t(`key-${name}`) : name.toUpperCase()));
}
