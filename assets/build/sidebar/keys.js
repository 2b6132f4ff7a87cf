// The list by keyboard: one stop for Tab, arrows within it, as in any list of files.
export const keys = {
  methods: {
    async key(event) {
      if (event.target.closest("form, .q-menu")) return;
      const item = this.itemOf(event.target);
      const chat = item?.type === "chats" && item.row ? item : null;
      const ids = chat ? this.idsFor(chat.row.id) : [...this.selected];
      const withCtrl = event.ctrlKey || event.metaKey;
      const [onward, back] = getComputedStyle(this.$el).direction === "rtl" ? ["ArrowLeft", "ArrowRight"] : ["ArrowRight", "ArrowLeft"];
      const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: this.perPage, PageUp: -this.perPage, Home: -Infinity, End: Infinity };
      let done = true;
      if (event.key in steps && !event.altKey && !withCtrl) await this.step(item, steps[event.key], event.shiftKey, event);
      else if (event.key === onward && item?.type === "folder" && !item.isOpen) this.fold(item);
      else if (event.key === back && item?.type === "folder" && item.isOpen) this.fold(item);
      else if (event.key === back && chat?.place.startsWith("folder:")) this.focusKey(`f:${chat.place.slice(7)}`);
      else if (event.key === " " && chat) this.toggle(chat);
      else if (event.key === " " && item?.type === "folder") this.fold(item);
      else if (event.key === "F2" && chat) this.startRename(chat.row);
      else if (event.key === "F2" && item?.type === "folder") this.renameFolder(item.folder);
      else if (event.key === "Delete" && ids.length) this.act({ do: "delete", ids });
      else if (event.key === "Delete" && item?.type === "folder") this.act({ do: "delete_folder", folder: item.folder.id });
      else if (event.key === "a" && withCtrl) await this.selectAll(event.preventDefault());
      else if (event.key === "z" && withCtrl) this.$emit("undo");
      else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) done = this.menuOf(item, event.target.closest("[data-key]"));
      else done = false;
      if (!done) return;
      event.preventDefault();
      event.stopPropagation();
    },
    async step(item, by, extending, event) {
      event.preventDefault(); // before anything is waited for
      const direction = by < 0 ? -1 : 1;
      let position = item ? item.position : -1;
      let to = Math.max(0, Math.min(this.layout.num - 1, position + by));
      while (this.layout.at(to)?.type === "heading" && to + direction >= 0 && to + direction < this.layout.num) to += direction;
      if (this.layout.at(to)?.type === "heading") to += 1; // nothing above the first heading
      if (extending) {
        if (this.anchor === null && item?.row) this.anchor = item.row.id;
        await this.selectTo(to);
      }
      position = to;
      await this.focusPosition(position);
    },
    stand(item) {
      Object.assign(this, { current: item.key, currentAt: item.position });
    },
    // The nearest one to there that can have the focus: no heading. null: the list is empty.
    nearestRow(position) {
      const { num } = this.layout;
      const isRow = (at) => !["heading", "none", undefined].includes(this.layout.at(at)?.type);
      for (let by = 0; by <= num; by += 1) {
        const found = [Math.min(position, num - 1) + by, Math.min(position, num - 1) - by].find(isRow);
        if (found !== undefined) return found;
      }
      return null;
    },
    async focusPosition(position) {
      const item = this.layout.at(position);
      if (!item) return;
      this.scrollTo(item);
      if (item.type === "chats") await this.pages.need(item.place, item.index, item.index + 1);
      this.current = this.keyOf(this.withRow(item));
      this.focusCurrent();
    },
    focusKey(key) {
      const position = this.positionOfItem(key);
      if (position !== null) this.focusPosition(position);
    },
    focusCurrent() {
      this.$nextTick(() => {
        const row = this.$refs.scroll?.querySelector(`[data-key="${CSS.escape(this.current ?? "")}"]`);
        (row?.querySelector("[data-focus]") ?? row)?.focus({ preventScroll: true });
      });
    },
    scrollTo({ top, px }) {
      const pane = this.$refs.scroll;
      const above = pane.querySelector(".nk-side-rows").offsetTop;
      if (top + above < pane.scrollTop) pane.scrollTop = top + above - 8;
      else if (top + above + px > pane.scrollTop + pane.clientHeight - 32) pane.scrollTop = top + above + px - pane.clientHeight + 32;
      this.look();
    },
  },
};
