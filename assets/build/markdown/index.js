// What answer.js takes from the bundle: markdown shown while it is written, and the clipboard.
export { copyText } from "./clipboard.js";
export { MarkdownView } from "./view.js";
export { inTurn } from "./turns.js";
