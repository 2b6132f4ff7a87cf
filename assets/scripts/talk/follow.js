// A page's side of following answers: follow(id, place, take) calls `take` with what the hub tells of that answer.
import { Hub } from "./hub.js";

const prefix = window.path_prefix ?? "";
const takers = new Map(); // by message id, the takers of this page
let line = null;

const hand = (event) => takers.get(event.id)?.forEach(({ take }) => take(event));

// Where no worker can be shared (Chrome on Android, an old Safari) the page holds its own line, and only while it is seen.
function ownLine() {
  const hub = new Hub(prefix);
  document.addEventListener("visibilitychange", () => hub.pause(document.hidden));
  hub.pause(document.hidden);
  return {
    follow: (id, { offset, thought }) => hub.join(hand, id, offset, thought),
    leave: (id) => hub.leave(hand, id),
    wake: () => hub.wake(),
  };
}

function sharedLine() {
  const address = new URL(`./worker.js?prefix=${encodeURIComponent(prefix)}`, import.meta.url);
  const worker = new SharedWorker(address, { type: "module", name: "inglenook answers" });
  worker.onerror = () => {
    line = ownLine();
    for (const [id, each] of takers) line.follow(id, [...each][0].place());
  };
  worker.port.onmessage = ({ data }) => hand(data);
  addEventListener("pagehide", () => worker.port.postMessage({ leave: "" }));
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) for (const [id, each] of takers) line.follow(id, [...each][0].place());
  });
  return {
    follow: (id, place) => worker.port.postMessage({ follow: id, ...place }),
    leave: (id) => worker.port.postMessage({ leave: id }),
    wake: () => worker.port.postMessage({ wake: true }),
  };
}

function theLine() {
  try {
    return window.SharedWorker ? sharedLine() : ownLine();
  } catch {
    return ownLine();
  }
}

addEventListener("focus", () => line?.wake());
document.addEventListener("visibilitychange", () => document.hidden || line?.wake());

// `place` answers with { offset, thought }: how much is here already. Returns how to stop.
export function follow(id, place, take) {
  line ??= theLine();
  const taker = { place, take };
  takers.set(id, (takers.get(id) ?? new Set()).add(taker));
  line.follow(id, place());
  return () => {
    const left = takers.get(id);
    left?.delete(taker);
    if (left?.size) return;
    takers.delete(id);
    line.leave(id);
  };
}

// What is missing here comes again.
export function askAgain(id, place) {
  line?.follow(id, place());
}
