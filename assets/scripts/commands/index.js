// What the list of commands and the sheet of shortcuts (commands.js) are made from.
export { FIELD, isMeantHere, pressed, signs } from "./keys.js";
export { fits, marked, matching, wordsOf } from "./labels.js";
