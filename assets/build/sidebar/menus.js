// Which menu opens where: of a row by its button, by key or by right-click, and of the chat that is shown by the page's head.
// All of them are the one SideMenu, so what can be done with a chat is listed once.
export const menus = {
  data() {
    return { menuKey: null /* of the row whose menu is open */ };
  },
  mounted() {
    document.addEventListener("click", this.headClicked);
  },
  unmounted() {
    document.removeEventListener("click", this.headClicked);
  },
  methods: {
    // `at`: a pointer's event, to open there. False: it has none, and whoever asked may do what they do without us. While
    // chats are being selected their toolbar has what can be done.
    menuOf(item, target, at = null) {
      if (!item || !target || !(item.row || item.folder) || (item.row && this.selecting)) return false;
      this.menuKey = item.key;
      if (item.folder) this.$refs.menu.open("folder", target, { folder: item.folder, at });
      else {
        const above = item.place === "pinned" && item.index ? this.pages.row("pinned", item.index - 1)?.id : null;
        this.chatMenu(target, { ...item.row, pinned: item.place === "pinned", archived: item.place === "archive", above }, { at });
      }
      return true;
    },
    chatMenu(target, row, more) {
      this.$refs.menu.open("chat", target, { row, ids: [row.id], given: row.tags, ...more });
    },
    // Shift leaves the browser its own menu. A finger that rests on a chat selects it.
    rightClick(item, event) {
      if (item.row && (this.pressAt || this.wasLongPress)) return event.preventDefault();
      if (event.shiftKey) return undefined;
      const line = event.currentTarget;
      if (!this.menuOf(item, line, event)) return undefined;
      event.preventDefault();
      line.querySelector("[data-focus]")?.focus({ preventScroll: true }); // where the keyboard goes on when it closes
      return undefined;
    },
    headClicked(event) {
      const button = event.target.closest("[data-nk-chat-menu]");
      if (button) this.menuOfShown(button);
    },
    // Its row may be in a closed folder, far down or in the archive: so it is asked for.
    async menuOfShown(button) {
      if (this.$refs.menu.isOf(button)) return this.$refs.menu.close();
      if (this.isAsking) return undefined; // for the first of two clicks
      this.isAsking = true;
      const id = this.active;
      const answer = await fetch(`${window.path_prefix || ""}/ui/chats/${id}`).catch(() => null);
      this.isAsking = false;
      if (!answer?.ok) return undefined; // away, or gone: the page says so
      const row = await answer.json();
      if (id !== this.active || !button.checkVisibility()) return undefined;
      const settings = document.querySelector("[data-nk-drawer]"); // on a phone there is no room for its button
      return this.chatMenu(button, row, { settings: settings?.checkVisibility() ? "" : (settings?.ariaLabel ?? "") });
    },
    // The menu that leads on holds the focus until it is gone.
    afterMenu(then) {
      if (document.querySelector(".q-menu")) requestAnimationFrame(() => this.afterMenu(then));
      else then();
    },
    openSettings() {
      this.afterMenu(() => document.querySelector("[data-nk-drawer]")?.click());
    },
    // Of the chat that is shown it is asked for outside of the list, too.
    startSelecting({ id, archived }) {
      const view = archived ? "archive" : "list";
      this.bringOut();
      this.searching = false;
      if (view !== this.view) this.show(view);
      this.select([id]);
      this.afterMenu(() => this.focusKey(`c:${id}`));
    },
  },
};
