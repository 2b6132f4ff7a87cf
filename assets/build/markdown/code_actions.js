// What the buttons of a block of code do. One listener an answer: answer.js passes its clicks on.
import { copyText } from "./clipboard.js";
import { relabel } from "./elements.js";
import { fileName } from "./files.js";
import { runScripts, togglePreview } from "./preview.js";
import { WORDS } from "./words.js";

const SHOWN_MS = 1600;

const ACTIONS = { copy, download, preview: togglePreview, run: runScripts, wrap };

export function actOnCode(event) {
  const button = event.target.closest("[data-nk-code]");
  if (button) ACTIONS[button.dataset.nkCode](button, button.closest("figure"));
}

async function copy(button, figure) {
  const isCopied = await copyText(codeOf(figure));
  relabel(button, isCopied ? WORDS.copied : WORDS.notCopied, isCopied ? "check" : "x");
  setTimeout(() => relabel(button, WORDS.copyCode, "copy"), SHOWN_MS);
}

function download(button, figure) {
  // Of no known type, or browsers would add an ending of theirs to "Dockerfile".
  const address = URL.createObjectURL(new Blob([codeOf(figure)], { type: "application/octet-stream" }));
  const name = figure.dataset.name ?? fileName("", codeOf(figure));
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address));
}

function wrap(button, figure) {
  const isOn = figure.classList.toggle("nk-wrap");
  button.setAttribute("aria-pressed", String(isOn));
}

function codeOf(figure) {
  return figure.querySelector("code").textContent;
}
