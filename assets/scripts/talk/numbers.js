// Numbers of an answer in words.
const { t } = window.nkWords;
const FILE_VERSION = /^(.+), (\d+) bytes, (\d+)(; .*)?$/; // as app/services/models.py writes it
const LEAST_S = 0.05; // below, a time is none; the first token's is told as this

export const inWords = (seconds, digits = 0) => {
  const factor = 10 ** digits;
  if (seconds < 59.95) return t("chat-seconds", { seconds: Math.round(seconds * factor) / factor });
  const whole = Math.round(seconds);
  return t("chat-minutes", { minutes: Math.floor(whole / 60), seconds: whole % 60 });
};

// The first token's time is the reading of the prompt.
function tokensPerSecond({ tokens, first_s = 0, all_s = 0 }) {
  const speed = (tokens - 1) / (all_s - first_s);
  return tokens > 1 && all_s > first_s ? (speed >= 10 ? Math.round(speed) : Math.round(10 * speed) / 10) : null;
}

function versionInWords(version) {
  const [, name, size, changed_ns, rest = ""] = version.match(FILE_VERSION) ?? [];
  if (!name) return version; // a commit, say
  const changed = new Date(Number(changed_ns) / 1e6).toISOString().replace("T", " ").slice(0, 19);
  return t("chat-figure-file", { name, size: Number(size), changed: `${changed} UTC` }) + rest;
}

// What stands in the line under an answer. Only what is known.
export function inShort(figures) {
  const speed = tokensPerSecond(figures);
  return [
    figures.model,
    speed && t("chat-stat-speed", { speed }),
    figures.tokens && t("chat-stat-tokens", { count: figures.tokens }),
    figures.all_s >= LEAST_S && inWords(figures.all_s, 1),
  ].filter(Boolean);
}

// [what, how much] of all.
export function inFull(figures) {
  const { model, version, connection, tokens, read, known = 0, first_s, thought_s, all_s, left_out } = figures;
  const speed = tokensPerSecond(figures);
  const rows = {
    model,
    version: version && versionInWords(version),
    connection: connection && t("chat-figure-from-elsewhere", { connection }),
    speed: speed && t("chat-figure-per-second", { speed }),
    "first-token": first_s > 0 && inWords(Math.max(first_s, LEAST_S), 1),
    length: tokens && t("chat-stat-tokens", { count: tokens }),
    read: read && t("chat-figure-read-of", { count: read, cached: known }),
    thought: thought_s && inWords(thought_s),
    duration: all_s >= LEAST_S && inWords(all_s, 1),
    "left-out": left_out && t("chat-figure-left-out-count", { count: left_out }),
  };
  return Object.entries(rows).filter(([, text]) => text).map(([name, text]) => [t(`chat-figure-${name}`), text]);
}

export function thoughtFor({ thought_s }) {
  return thought_s === undefined ? t("chat-thought") : t("chat-thought-for", { time: inWords(Math.max(1, thought_s)) });
}
