// A chat or folder gets another name, written in its row; where that is not to be had, above the list.
export const renaming = {
  data() {
    return { renaming: null, title: "" };
  },
  computed: {
    // Of a chat whose row is not to be had: in a closed folder, far down, in the archive.
    renamingAway() {
      return this.renaming !== null && !this.rows.some((item) => item.key === this.renaming);
    },
  },
  methods: {
    // Alone it may be asked for from elsewhere: by the chat's own menu, where the row need not be in sight.
    startRename({ id, title }) {
      this.beginRename(`c:${id}`, title);
    },
    renameFolder({ id, name }) {
      this.beginRename(`f:${id}`, name);
    },
    beginRename(key, title) {
      this.bringOut();
      this.searching = false;
      Object.assign(this, { title, oldTitle: title, renaming: key, current: key });
      this.selectTitle();
    },
    selectTitle() {
      this.afterMenu(() => this.$nextTick(() => {
        const position = this.positionOfItem(this.renaming ?? "");
        if (position !== null) this.scrollTo(this.layout.at(position));
        this.$nextTick(() => (this.$refs.title?.[0] ?? this.$refs.titleAway)?.select());
      }));
    },
    saveRename() {
      const [kind, id] = (this.renaming ?? "").split(":");
      this.renaming = null;
      const title = this.title.trim();
      if (!id || !title || title === this.oldTitle) return;
      this.$emit(kind === "c" ? "rename" : "rename-folder", { id, title });
    },
    endRename(isMeant) {
      if (isMeant) this.saveRename();
      this.renaming = null;
      this.focusCurrent();
    },
  },
};
