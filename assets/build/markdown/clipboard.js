// The clipboard, also where browsers keep their own from pages: on plain http, as in an office's own network.

/** Whether `text` is in the clipboard now. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyTheOldWay(text);
  }
}

function copyTheOldWay(text) {
  const box = Object.assign(document.createElement("textarea"), { value: text, className: "nk-sr" });
  const before = document.activeElement;
  document.body.append(box);
  box.select();
  const isCopied = document.execCommand("copy");
  box.remove();
  before?.focus({ preventScroll: true });
  return isCopied;
}
