// Follows answers for any number of readers over one line (ui/stream.py): in a worker that all tabs share, since browsers hold
// six connections to a host and a seventh tab would not even load; or in the page, where there are no such workers.
// A reader joins with what it has: offsets are absolute, so that what comes twice does no harm.
const RETRY_MS = 1500;
const MOST_RETRY_MS = 10_000; // where the server answers, but refuses

export class Hub {
  constructor(prefix) {
    this.prefix = prefix;
    this.answers = new Map(); // by message id: { offset, thought, readers }
    this.order = []; // the ids of the open line, as the server counts them
    this.source = null;
    this.timer = 0;
    this.paused = false;
    this.retryMs = RETRY_MS;
    addEventListener("online", () => this.wake());
  }

  join(reader, id, offset, thought) {
    const answer = this.answers.get(id) ?? { offset, thought, readers: new Set() };
    answer.readers.add(reader);
    answer.offset = Math.min(answer.offset, offset);
    answer.thought = Math.min(answer.thought, thought);
    this.answers.set(id, answer);
    this.openSoon(0);
  }

  leave(reader, id) {
    for (const [each, answer] of id ? [[id, this.answers.get(id)]] : [...this.answers]) {
      if (answer?.readers.delete(reader) && !answer.readers.size) this.drop(each);
    }
  }

  // What is not looked at needs no line; it goes on from where it was.
  pause(paused) {
    this.paused = paused;
    if (paused) this.hangUp();
    else this.openSoon(0);
  }

  // Somebody looks, or the network is back: what waits for its next try waits no longer.
  wake() {
    this.retryMs = RETRY_MS;
    if (this.timer) this.openSoon(0);
  }

  drop(id) {
    this.answers.delete(id);
    if (!this.answers.size) this.hangUp();
  }

  hangUp() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.source?.close();
    this.source = null;
  }

  openSoon(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), ms);
  }

  open() {
    this.hangUp();
    if (!this.answers.size || this.paused) return;
    this.order = [...this.answers.keys()];
    const all = [...this.answers.values()];
    const query = `offset=${all.map(({ offset }) => offset)}&thought=${all.map(({ thought }) => thought)}`;
    const source = (this.source = new EventSource(`${this.prefix}/ui/stream/${this.order}?${query}`));
    source.onmessage = ({ data }) => this.pieces("text", "offset", JSON.parse(data));
    source.addEventListener("thought", ({ data }) => this.pieces("thought", "thought", JSON.parse(data)));
    for (const name of ["state", "done", "gone", "later"]) {
      source.addEventListener(name, ({ data }) => this.told(name, JSON.parse(data)));
    }
    source.onopen = () => (this.retryMs = RETRY_MS);
    source.onerror = () => {
      const refused = source.readyState === EventSource.CLOSED; // a lost line would be opened again
      source.close(); // its own retry would begin at the old offsets
      if (this.source !== source) return;
      this.openSoon(this.retryMs);
      if (refused) this.retryMs = Math.min(2 * this.retryMs, MOST_RETRY_MS);
    };
  }

  pieces(name, place, [offset, piece, of = 0]) {
    const answer = this.answers.get(this.order[of]);
    if (!answer) return;
    answer[place] = offset + piece.length;
    this.tell(answer, { id: this.order[of], name, offset, piece });
  }

  told(name, { of = 0, ...data }) {
    const id = this.order[of];
    const answer = this.answers.get(id);
    if (!answer) return;
    if (name === "later") return this.openSoon(RETRY_MS);
    if (name !== "state") this.drop(id);
    this.tell(answer, { id, name, data });
  }

  tell(answer, event) {
    for (const reader of answer.readers) reader(event);
  }
}
