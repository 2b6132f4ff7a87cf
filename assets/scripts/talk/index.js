// What answers (answer.js) and one's own messages (said.js) share: parts of a message, and how an answer is followed.
export { Branch } from "./branch.js";
export { shortClusters } from "./clusters.js";
export { editable } from "./editable.js";
export { Editor } from "./editor.js";
export { Figures } from "./figures.js";
export { focusIn, focusWhatTakesItsPlace } from "./focus.js";
export { askAgain, follow } from "./follow.js";
export { reading, startReading, stopReading } from "./speech.js";
export { Thought } from "./thought.js";
export { Waiting } from "./wait.js";
