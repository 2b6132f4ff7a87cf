// The chats of all lists, read in pages as they come into sight. What is known already stays on the page while it is read
// again, so that nothing flickers when something has changed.
const PAGE = 60;

export class Pages {
  constructor(onChange) {
    this.onChange = onChange;
    this.lists = new Map(); // by place: pages by number, each {rows, isStale}
    this.reading = new Map();
  }

  page(place, number) {
    return this.lists.get(place)?.get(number);
  }

  put(place, number, rows) {
    if (!this.lists.has(place)) this.lists.set(place, new Map());
    this.lists.get(place).set(number, { rows, isStale: false });
  }

  row(place, index) {
    return this.page(place, Math.floor(index / PAGE))?.rows[index % PAGE];
  }

  find(id) {
    for (const [place, pages] of this.lists) {
      for (const [number, { rows }] of pages) {
        const at = rows.findIndex((row) => row.id === id);
        if (at >= 0) return { place, index: number * PAGE + at, row: rows[at] };
      }
    }
    return null;
  }

  // Something has changed: all of it is read again when it is next needed.
  outdate() {
    for (const pages of this.lists.values()) for (const page of pages.values()) page.isStale = true;
  }

  // Resolves when rows `from` to `to` (not included) are there.
  async need(place, from, to) {
    const wanted = [];
    for (let number = Math.floor(from / PAGE); number * PAGE < to; number += 1) {
      const page = this.page(place, number);
      if (!page || page.isStale) wanted.push(this.read(place, number));
    }
    await Promise.all(wanted);
  }

  read(place, number) {
    const key = `${place} ${number}`;
    const page = this.page(place, number);
    if (page) page.isStale = false; // what changes from now on makes it stale again
    if (!this.reading.has(key) || page) this.reading.set(key, this.fetch(place, number, key));
    return this.reading.get(key);
  }

  async fetch(place, number, key) {
    const query = new URLSearchParams({ place, offset: number * PAGE, limit: PAGE });
    const answer = await fetch(`${window.path_prefix || ""}/ui/chats?${query}`).catch(() => null); // away: read again when something changes
    this.reading.delete(key);
    if (!answer?.ok) {
      const page = this.page(place, number);
      if (page) page.isStale = true;
      return;
    }
    this.put(place, number, await answer.json());
    this.onChange();
  }
}
