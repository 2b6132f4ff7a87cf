// Dragging chats onto folders, pins, days and the archive, and folders onto folders.
const CHATS = "application/x-inglenook-chats";

export const drag = {
  data() {
    return { dragging: null /* {ids} or {folder} */, over: null /* the key of the row that would take it */ };
  },
  methods: {
    dragChat(item, event) {
      const ids = this.idsFor(item.row.id);
      event.dataTransfer.setData("text/uri-list", new URL(`/c/${item.row.id}`, location.href).href);
      this.dragBegins({ ids }, event, ids.length > 1 ? this.t("sidebar-selected", { count: ids.length }) : item.row.title);
    },
    dragFolder(item, event) {
      this.dragBegins({ folder: item.folder }, event, item.folder.name);
    },
    dragBegins(what, event, text) {
      event.dataTransfer.setData(CHATS, "");
      event.dataTransfer.effectAllowed = "copyMove";
      const ghost = Object.assign(document.createElement("div"), { className: "nk-drag-ghost", textContent: text });
      document.body.append(ghost);
      event.dataTransfer.setDragImage(ghost, -8, 14);
      setTimeout(() => {
        ghost.remove();
        this.dragging = what; // later: a page that changes under the pointer would end the drag at once
      });
    },
    dragOver(item, event) {
      if (!this.dragging || !this.dropOf(item)) return this.dragLeave();
      event.preventDefault();
      event.dataTransfer.dropEffect = "move";
      this.over = this.overKey(item);
      return undefined;
    },
    dragLeave() {
      this.over = null;
    },
    dragEnd() {
      this.dragging = this.over = null;
    },
    drop(item, event) {
      const what = this.dropOf(item);
      this.dragEnd();
      if (!what) return;
      event.preventDefault();
      this.act(what);
    },
    // The whole group shows that it would take it, where its single rows mean nothing else.
    overKey(item) {
      if (item.type === "chats" && item.place === "days") return "days";
      return item.kind === "days" ? "days" : this.keyOf(item);
    },
    dropOf(item) {
      const { ids, folder } = this.dragging ?? {};
      if (folder) return this.dropFolder(folder, item);
      if (!ids) return null;
      if (item.type === "folder") return { do: "move", ids, folder: item.folder.id };
      if (item.type === "archive") return { do: "archive", ids };
      if (item.kind === "pinned") return { do: "pin", ids };
      if (item.place === "pinned") return ids.includes(item.row?.id) ? null : { do: "pin", ids, before: item.row?.id };
      if (item.kind === "days" || item.place === "days") return { do: "move", ids, folder: null };
      if (item.place?.startsWith("folder:")) return { do: "move", ids, folder: item.place.slice(7) };
      return null;
    },
    dropFolder(folder, item) {
      const hasInner = this.outline.folders.some((each) => each.parent === folder.id);
      if (item.kind === "folders" && folder.parent) return { do: "place_folder", folder: folder.id, parent: null };
      if (item.type !== "folder" || item.folder.id === folder.id || item.folder.parent || hasInner) return null;
      return item.folder.id === folder.parent ? null : { do: "place_folder", folder: folder.id, parent: item.folder.id };
    },
  },
};
