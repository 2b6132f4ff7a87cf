// Choosing many chats: Ctrl, Shift, a long press, Space. What is chosen is kept by id, wherever it is in the list.
const LONG_PRESS_MS = 450;
const MOVED_PX = 10;

export const selection = {
  data() {
    return { selected: new Set(), anchor: null };
  },
  unmounted() {
    clearTimeout(this.pressTimer);
  },
  computed: {
    selecting() {
      return this.selected.size > 0;
    },
  },
  methods: {
    select(ids) {
      this.selected = new Set(ids);
      if (!this.selected.size) this.anchor = null;
    },
    toggle(item) {
      const ids = new Set(this.selected);
      if (!ids.delete(item.row.id)) ids.add(item.row.id);
      this.select(ids);
      this.anchor = item.row.id;
      this.current = `c:${item.row.id}`;
    },
    // From where one began to here, whatever lies between, also what was never in sight.
    async selectTo(position) {
      const from = this.positionOfChat(this.anchor) ?? position;
      const [low, high] = [Math.min(from, position), Math.max(from, position)];
      const anchor = this.anchor;
      const ids = await this.idsBetween(low, high);
      this.select(new Set([...ids]));
      this.anchor = anchor ?? ids[0];
    },
    async idsBetween(low, high) {
      const items = [];
      for (const segment of this.layout.segments) {
        if (segment.type !== "chats") continue;
        const from = Math.max(low, segment.position) - segment.position;
        const to = Math.min(high + 1, segment.position + segment.num) - segment.position;
        if (from < to) items.push([segment.place, segment.offset + from, segment.offset + to]);
      }
      await Promise.all(items.map(([place, from, to]) => this.pages.need(place, from, to)));
      const ids = [];
      for (const [place, from, to] of items) {
        for (let index = from; index < to; index += 1) ids.push(this.pages.row(place, index)?.id);
      }
      return ids.filter(Boolean);
    },
    async selectAll() {
      this.select(await this.idsBetween(0, this.layout.num - 1));
    },
    // The ids that something is done to: all that are chosen if this one is, else it alone.
    idsFor(id) {
      return this.selected.has(id) ? [...this.selected] : [id];
    },
    click(item, event) {
      if (this.wasLongPress) {
        this.wasLongPress = false;
        return event.preventDefault();
      }
      if (event.button) return undefined;
      event.preventDefault();
      if (event.shiftKey) {
        window.getSelection().removeAllRanges();
        return this.selectTo(item.position);
      }
      if (event.ctrlKey || event.metaKey || this.selecting) return this.toggle(item);
      return this.openChat(item.row.id);
    },
    pressStart(item, event) {
      this.wasLongPress = false;
      if (event.pointerType !== "touch") return;
      this.pressAt = [event.clientX, event.clientY];
      clearTimeout(this.pressTimer);
      this.pressTimer = setTimeout(() => {
        this.wasLongPress = true;
        navigator.vibrate?.(10);
        this.toggle(item);
      }, LONG_PRESS_MS);
    },
    pressMove(event) {
      if (!this.pressAt) return;
      const [x, y] = this.pressAt;
      if (Math.hypot(event.clientX - x, event.clientY - y) > MOVED_PX) this.pressEnd();
    },
    pressEnd() {
      clearTimeout(this.pressTimer);
      this.pressAt = null;
    },
  },
};
