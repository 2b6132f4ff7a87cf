// Labels beside what was typed: whether they fit it, and which of their parts, {text, hit}, are marked.
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

export const wordsOf = (text) => plain(text).split(/\s+/).filter(Boolean);

export const fits = (label, words) => words.every((word) => plain(label).includes(word));

/** What the server has marked, by these signs at the beginning and the end. */
export function marked(text, [start, end]) {
  return text.split(start).flatMap((piece, index) => {
    if (!index) return { text: piece };
    const [hit, rest = ""] = piece.split(end);
    return [{ text: hit, hit: true }, { text: rest }];
  }).filter((part) => part.text);
}

/** The same of a label, for what was typed. Where letters and marks are one here and two there, it stays unmarked. */
export function matching(label, [word]) {
  const simple = plain(label);
  const from = word && simple.length === label.length ? simple.indexOf(word) : -1;
  if (from < 0) return [{ text: label }];
  return [
    { text: label.slice(0, from) }, { text: label.slice(from, from + word.length), hit: true }, { text: label.slice(from + word.length) },
  ].filter((part) => part.text);
}
