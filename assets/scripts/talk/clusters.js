// Marks without end on one letter: Chromium's time to lay them out grows with their square, and 100,000 held a page for half a
// minute. No script has more than a dozen; what comes after these stands on circles, as browsers show a mark without a letter.
// Of what is shown only: the text itself is kept and copied as it is.
const MANY = /\p{M}{50}(?=\p{M})/gu;
const PERHAPS = /[\u0300-\uffff]{50}/; // tells most texts apart in a sixth of the time: an answer is shown anew at each word

export const shortClusters = (text) => (PERHAPS.test(text) ? text.replace(MANY, "$&\u25cc") : text);
