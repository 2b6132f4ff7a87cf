// Reading a text aloud, by a voice that the browser itself has on this device, in the text's language. One at a time in a page.
import { reactive } from "vue";

const speech = window.speechSynthesis;
const LONGEST_CHARS = 240; // some voices give up on long ones
// Words that are frequent in one language and rare in the others; scripts that belong to one.
const FREQUENT = {
  en: "the and of to is that it for with you are this",
  de: "der die und das ist nicht ein eine mit den von zu sich auf",
  fr: "le les des est une dans que pour pas vous qui sur avec",
  es: "el los las una que por con para es como pero más",
  it: "il che di è una per non con sono della gli anche",
  pt: "o que não uma para com os são por mais você do",
  nl: "het een van en dat niet zijn voor met ook maar",
  pl: "nie się jest że na jak czy dla oraz być",
};
const SCRIPTS = { ja: /[぀-ヿ]/, ko: /[가-힯]/, zh: /[一-鿿]/, ru: /[Ѐ-ӿ]/, el: /[Ͱ-Ͽ]/, he: /[֐-׿]/, ar: /[؀-ۿ]/, hi: /[ऀ-ॿ]/, th: /[฀-๿]/ };

export const reading = reactive({ possible: false, id: "" }); // id: of the message that is being read

// A voice that is not the device's own would send the text to its maker.
const voices = () => (speech?.getVoices() ?? []).filter(({ localService }) => localService);

function lookForVoices() {
  reading.possible = voices().length > 0;
}
lookForVoices();
speech?.addEventListener?.("voiceschanged", lookForVoices);
addEventListener("pagehide", stopReading);

export function languageOf(text) {
  const beginning = text.slice(0, 4000);
  const letters = beginning.match(/\p{L}/gu) ?? [];
  for (const [language, script] of Object.entries(SCRIPTS)) {
    if (letters.filter((letter) => script.test(letter)).length > letters.length / 4) return language;
  }
  const words = beginning.toLowerCase().match(/[\p{L}]+/gu) ?? [];
  const found = Object.entries(FREQUENT).map(([language, list]) => [words.filter((word) => list.split(" ").includes(word)).length, language]);
  const [count, language] = found.sort((a, b) => b[0] - a[0])[0];
  return count ? language : window.nkWords.language;
}

function pieces(text) {
  const sentences = text.split(/(?<=[.!?…。！？])\s+|\n+/u).filter((piece) => piece.trim());
  return sentences.flatMap((piece) => piece.match(new RegExp(`.{1,${LONGEST_CHARS}}(?=\\s|$)|.{1,${LONGEST_CHARS}}`, "gsu")) ?? []);
}

export function startReading(id, text) {
  stopReading();
  if (!reading.possible) return;
  const language = languageOf(text);
  const local = voices();
  const voice = local.find(({ lang }) => lang.toLowerCase().startsWith(language)) ?? local[0]; // left open, it might be a distant one
  const parts = pieces(text).map((piece) => Object.assign(new SpeechSynthesisUtterance(piece), { lang: voice.lang, voice }));
  if (!parts.length) return;
  reading.id = id;
  parts.at(-1).onend = () => reading.id === id && (reading.id = "");
  parts.forEach((part) => (part.onerror = () => reading.id === id && stopReading()));
  parts.forEach((part) => speech.speak(part));
}

export function stopReading() {
  if (!reading.id) return;
  reading.id = "";
  speech.cancel();
}
