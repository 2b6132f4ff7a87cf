// The sidebar of the chat page: a new chat, the search, and all chats there are. Only the rows in sight are in the page: where
// each of thousands stands follows from their numbers alone (assets/build/sidebar/layout.js). Links are real ones.
import { drag, keys, Layout, menus, Pages, renaming, SideMenu, SideSearch, selection } from "inglenook-sidebar";

const t = (...said) => window.nkWords.t(...said);
const OPEN_KEY = "inglenook.folders";
const SPARE = 8; // rows above and below what is in sight
const LIST_PART = 0.75; // of the window's height, until the list is laid out
const NARROW = "(max-width: 53.6875em), (pointer: coarse)";

// In px: rows grow with their reader's size of text.
const rowHeight = (narrow) => Math.round((narrow.matches ? 2.75 : 2.125) * parseFloat(getComputedStyle(document.documentElement).fontSize));

export default {
  components: { SideMenu, SideSearch },
  directives: { escape: window.nkEscape.directive },
  mixins: [selection, drag, keys, menus, renaming],
  template: `
    <div class="nk-sidebar" @dragend="dragEnd">
      <SideSearch v-if="searching" v-escape="closeSearch" :folders="outline.folders" :tags="outline.tags" :models="outline.models" :active="active" @close="closeSearch" @open="openHit"/>
      <template v-else>
        <nav class="nk-side-act" :aria-label="t('sidebar-new-chat')">
          <a class="nk-nav strong" href="/" data-nk-new-chat data-nk-close-menu @click.exact.prevent="$emit('new-chat')">
            <svg class="nk-i" aria-hidden="true"><use href="#nk-square-pen"/></svg><span>{{ t('sidebar-new-chat') }}</span><kbd>{{ keysNew }}</kbd></a>
          <button type="button" class="nk-nav" ref="search" data-nk-search @click="searching = true">
            <svg class="nk-i" aria-hidden="true"><use href="#nk-search"/></svg><span>{{ t('sidebar-search') }}</span><kbd>{{ keysSearch }}</kbd></button>
          <button v-if="view === 'archive'" v-escape="() => show('list')" type="button" class="nk-nav nk-back" @click="show('list')">
            <svg class="nk-i" aria-hidden="true"><use href="#nk-chevron-left"/></svg><span>{{ t('sidebar-archive-back') }}</span></button>
        </nav>
        <div v-if="dragging?.ids && !outline.pinned" class="nk-drop-pin" :class="{ over: over === pinZone.key }" @dragover="dragOver(pinZone, $event)" @dragleave="dragLeave" @drop="drop(pinZone, $event)">
          <svg class="nk-i" aria-hidden="true"><use href="#nk-pin"/></svg>{{ t('sidebar-pin') }}</div>
        <form v-if="renaming && renamingAway" class="nk-rename nk-side-act" @submit.prevent="endRename(true)">
          <label class="nk-input nk-input-sm"><input ref="titleAway" v-model="title" maxlength="200" dir="auto" :aria-label="t('sidebar-new-title')" v-escape="() => endRename(false)" @blur="saveRename"></label></form>
        <div class="nk-side-scroll" ref="scroll" @scroll.passive="look" @keydown="key">
          <div class="nk-side-rows" v-bind="grid" :style="{ height: layout.height + 'px' }">
            <div v-if="view === 'archive' && !layout.num" class="nk-empty"><span class="nk-glyph" aria-hidden="true"><svg class="nk-i nk-i-20"><use href="#nk-archive"/></svg></span><p>{{ t('sidebar-archive-empty') }}</p></div>
            <template v-for="item in rows" :key="item.key">
              <div v-if="item.type === 'heading'" role="row" :aria-rowindex="item.position + 1" class="nk-group nk-at" :class="{ over: over === item.overKey }" :style="at(item)"
                @dragover="dragOver(item, $event)" @drop="drop(item, $event)">
                <span role="rowheader">{{ item.name ?? t('sidebar-' + item.kind) }}</span>
                <svg v-if="item.kind === 'pinned'" class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-pin"/></svg>
                <span v-if="item.kind === 'folders'" role="gridcell"><button type="button" class="nk-ib nk-ib-sm" :aria-label="t('sidebar-folder-new')" :title="t('sidebar-folder-new')" aria-haspopup="dialog"
                  @click="$refs.menu.open('new', $event.currentTarget)"><svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-folder-plus"/></svg></button></span>
              </div>
              <div v-else-if="item.type === 'none'" class="nk-empty"><span class="nk-glyph" aria-hidden="true"><svg class="nk-i nk-i-20"><use href="#nk-message-square"/></svg></span><p>{{ t('sidebar-empty') }}</p></div>
              <div v-else-if="renaming === item.key" role="row" class="nk-rename nk-at" :style="at(item)" :aria-rowindex="item.position + 1" :aria-level="(item.depth ?? 0) + 1">
                <span role="gridcell" class="nk-cell"><form class="nk-grow" @submit.prevent="endRename(true)">
                  <label class="nk-input nk-input-sm"><input ref="title" v-model="title" maxlength="200" dir="auto" :aria-label="t('sidebar-new-title')"
                    v-escape="() => endRename(false)" @blur="saveRename"></label></form></span></div>
              <div v-else role="row" class="nk-nav nk-at" :data-key="item.key" :style="at(item)" :aria-rowindex="item.position + 1" :aria-level="(item.depth ?? 0) + 1"
                :aria-selected="item.row ? String(selected.has(item.row.id)) : null" :aria-expanded="item.type === 'folder' ? String(item.isOpen) : null"
                :class="{ on: item.row && item.row.id === active, chosen: item.row && selected.has(item.row.id), over: over === item.overKey }"
                :draggable="item.type !== 'archive'" @dragstart="item.folder ? dragFolder(item, $event) : item.row && dragChat(item, $event)" @contextmenu="rightClick(item, $event)"
                @dragover="dragOver(item, $event)" @drop="drop(item, $event)">
                <template v-if="item.type === 'chats'">
                  <template v-if="item.row">
                    <span v-if="selecting" class="nk-check" aria-hidden="true" @click="toggle(item)"><svg v-if="selected.has(item.row.id)" class="nk-i nk-i-14"><use href="#nk-check"/></svg></span>
                    <span role="gridcell" class="nk-cell"><a class="nk-nav-link nk-ell" data-focus :data-nk-close-menu="selecting ? null : ''" dir="auto" :data-chat="item.row.id" :href="'/c/' + item.row.id"
                      :tabindex="tabindex(item)" :aria-current="item.row.id === active ? 'page' : null" :title="hint(item.row)" @focus="stand(item)" @click="click(item, $event)" @auxclick.stop
                      @pointerdown="pressStart(item, $event)" @pointermove="pressMove" @pointerup="pressEnd" @pointercancel="pressEnd">{{ item.row.title }}</a></span>
                    <span v-if="writing.includes(item.row.id)" role="gridcell" class="nk-cell-end"><span class="nk-live" :title="t('sidebar-writing')" role="img" :aria-label="t('sidebar-writing')"></span></span>
                    <span role="gridcell" v-if="!selecting" class="nk-cell-end"><button type="button" class="nk-ib nk-ib-sm nk-more" :tabindex="tabindex(item)" :aria-label="t('sidebar-menu-of', { name: item.row.title })" aria-haspopup="menu"
                      :aria-expanded="String(menuKey === item.key)" @click="menuOf(item, $event.currentTarget)"><svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-ellipsis"/></svg></button></span>
                  </template>
                  <span v-else role="gridcell" class="nk-cell nk-unread" aria-hidden="true"></span>
                </template>
                <template v-else>
                  <span role="gridcell" class="nk-cell"><button type="button" class="nk-nav-link nk-folder" data-focus :tabindex="tabindex(item)" @focus="stand(item)" @click="item.folder ? fold(item) : show('archive')">
                    <svg class="nk-i" aria-hidden="true"><use :href="item.folder ? (item.isOpen ? '#nk-folder-open' : '#nk-folder') : '#nk-archive'"/></svg>
                    <span class="nk-ell" dir="auto">{{ item.folder ? item.folder.name : t('sidebar-archive-name') }}</span></button></span>
                  <span role="gridcell" class="nk-cell-end"><span class="nk-count">{{ item.count }}</span>
                    <button v-if="item.folder" type="button" class="nk-ib nk-ib-sm nk-more" :tabindex="tabindex(item)" :aria-label="t('sidebar-menu-of', { name: item.folder.name })" aria-haspopup="menu"
                      :aria-expanded="String(menuKey === item.key)" @click="menuOf(item, $event.currentTarget)"><svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-ellipsis"/></svg></button></span>
                </template>
              </div>
            </template>
          </div>
        </div>
        <div v-if="selecting" class="nk-side-bar" role="toolbar" :aria-label="t('sidebar-selected', { count: selected.size })" v-escape="() => select([])">
          <span class="nk-grow" role="status">{{ t('sidebar-selected', { count: selected.size }) }}</span>
          <button v-for="each in bar" :key="each.icon" type="button" class="nk-ib" :aria-label="each.label" :title="each.label" :aria-haspopup="each.menu ? 'menu' : null" @click="each.go($event.currentTarget)">
            <svg class="nk-i" aria-hidden="true"><use :href="'#nk-' + each.icon"/></svg></button>
        </div>
      </template>
      <SideMenu ref="menu" :folders="outline.folders" :tags="outline.tags" @act="act" @rename="startRename" @rename-folder="renameFolder" @select="startSelecting"
        @print="$emit('print', $event)" @settings="openSettings" @closed="menuKey = null"/>
    </div>`,
  props: { outline: Object, first: Array, active: String, writing: Array, version: Number, keysNew: String, keysSearch: String },
  emits: ["new-chat", "open", "rename", "rename-folder", "print", "act", "undo"],
  data() {
    const open = JSON.parse(localStorage.getItem(OPEN_KEY) ?? "[]");
    this.pages = new Pages(() => (this.stamp += 1)); // not Vue's: rows are looked up when `stamp` moves on
    for (const { place, rows } of this.first) this.pages.put(place, 0, rows);
    this.narrow = matchMedia(NARROW);
    return {
      open: new Set(open), view: "list", searching: false, current: null,
      top: 0, height: window.innerHeight * LIST_PART, row: rowHeight(this.narrow), stamp: 0,
    };
  },
  computed: {
    layout() {
      return new Layout(this.outline, { open: this.open, view: this.view, row: this.row, tap: this.narrow.matches ? this.row : 0 });
    },
    pinZone: () => ({ type: "heading", kind: "pinned", key: "h:pinned" }),
    isEmpty() {
      return this.layout.segments[0]?.type === "none";
    },
    // Without a row it is no grid, and may say nothing of one.
    grid() {
      if (!this.layout.num || this.isEmpty) return {};
      const label = t(this.view === "archive" ? "sidebar-archive-name" : "sidebar-chats");
      return { role: "treegrid", "aria-label": label, "aria-multiselectable": "true", "aria-rowcount": this.layout.num };
    },
    rows() {
      void this.stamp;
      const { num } = this.layout;
      if (!num) return [];
      const from = Math.max(0, this.layout.positionAtPx(this.top) - SPARE);
      const to = Math.min(num - 1, this.layout.positionAtPx(this.top + this.height) + SPARE);
      const positions = Array.from({ length: to - from + 1 }, (_, index) => from + index);
      // The row with the keyboard stays in the page, wherever the list is scrolled to.
      const kept = this.current && this.positionOfItem(this.current);
      if (kept !== null && kept < from) positions.unshift(kept);
      if (kept !== null && kept > to) positions.push(kept);
      return positions.map((position) => this.withRow(this.layout.at(position)));
    },
    stop() {
      const focusable = this.rows.filter((item) => item.type !== "heading" && (item.row || item.type !== "chats"));
      return (focusable.find((item) => item.key === this.current) ?? focusable[0])?.key;
    },
    perPage() {
      return Math.max(1, Math.floor(this.height / this.row) - 2);
    },
    bar() {
      const ids = () => [...this.selected];
      const menu = (mode) => (target) => this.$refs.menu.open(mode, target, { ids: ids(), given: mode === "tags" ? this.tagsOf(ids()) : [] });
      const archive = this.view === "archive" ? ["archive-restore", "sidebar-unarchive", "unarchive"] : ["archive", "sidebar-archive", "archive"];
      return [
        { icon: "folder-input", label: t("sidebar-move-to"), menu: true, go: menu("move") },
        { icon: "tag", label: t("sidebar-tags"), menu: true, go: menu("tags") },
        { icon: archive[0], label: t(archive[1]), go: () => this.act({ do: archive[2], ids: ids() }) },
        { icon: "trash-2", label: t("sidebar-delete"), go: () => this.act({ do: "delete", ids: ids() }) },
        { icon: "x", label: t("sidebar-select-end"), go: () => this.select([]) },
      ];
    },
  },
  watch: {
    version() {
      this.pages.outdate();
      this.load();
    },
    rows() {
      this.load();
    },
    searching() {
      this.$nextTick(this.look);
    },
  },
  created() {
    this.narrow.addEventListener("change", this.measure);
    this.currentAt = 0; // where the row stands that had the keyboard
  },
  mounted() {
    this.observer = new ResizeObserver(() => (this.look(), this.load())); // at first once it is laid out, and not before
    this.observer.observe(this.$el);
    document.addEventListener("keydown", this.anywhere);
  },
  unmounted() {
    this.observer.disconnect();
    this.narrow.removeEventListener("change", this.measure);
    document.removeEventListener("keydown", this.anywhere);
  },
  beforeUpdate() {
    this.hadFocus = this.$el.contains(document.activeElement);
  },
  updated() {
    // What had the focus is gone, here or elsewhere: keyboards go on from the row that took its place.
    if (!this.hadFocus || document.activeElement !== document.body) return;
    this.$nextTick(this.goOn); // unless it is led elsewhere
  },
  methods: {
    t,
    goOn() {
      if (document.activeElement !== document.body) return;
      const position = this.positionOfItem(this.current ?? "") ?? this.nearestRow(this.currentAt);
      if (position === null) document.querySelector("[data-nk-new-chat]")?.focus({ preventScroll: true });
      else this.focusPosition(position);
    },
    measure() {
      this.row = rowHeight(this.narrow);
    },
    look() {
      const pane = this.$refs.scroll;
      if (pane) Object.assign(this, { top: pane.scrollTop, height: pane.clientHeight });
    },
    load() {
      for (const item of this.rows) if (item.type === "chats") this.pages.need(item.place, item.index, item.index + 1);
    },
    keyOf(item) {
      return item.key ?? (item.row ? `c:${item.row.id}` : `${item.place} ${item.index}`);
    },
    withRow(item) {
      const whole = item.type === "chats" ? { ...item, row: this.pages.row(item.place, item.index) } : { ...item };
      whole.key = this.keyOf(whole);
      whole.overKey = this.overKey(whole);
      return whole;
    },
    positionOfChat(id) {
      const found = id ? this.pages.find(id) : null;
      return found ? this.layout.positionOf(found.place, found.index) : null;
    },
    positionOfItem(key) {
      return key.startsWith("c:") ? this.positionOfChat(key.slice(2)) : this.layout.positionOfKey(key);
    },
    itemOf(element) {
      const key = element.closest("[data-key]")?.dataset.key;
      return key ? this.rows.find((item) => item.key === key) : null;
    },
    at: ({ top, px }) => ({ transform: `translateY(${top}px)`, height: `${px}px` }),
    tabindex(item) {
      return item.key === this.stop ? 0 : -1;
    },
    hint: (row) => (row.tags.length ? `${row.title}\n${row.tags.map((tag) => `#${tag}`).join(" ")}` : row.title),
    tagsOf(ids) {
      const each = ids.map((id) => new Set(this.pages.find(id)?.row.tags ?? []));
      return [...(each[0] ?? [])].filter((tag) => each.every((tags) => tags.has(tag)));
    },
    act({ keep = false, ...what }) {
      this.$emit("act", what);
      if (!keep) this.select([]);
      if (what.parent) this.unfold(what.parent);
    },
    openChat(id) {
      this.$emit("open", { id });
    },
    openHit({ id, message }) {
      this.$emit("open", { id, message });
    },
    show(view) {
      this.select([]);
      this.view = view;
      this.current = null;
      this.$nextTick(() => {
        if (this.$refs.scroll) this.$refs.scroll.scrollTop = 0;
        this.look();
        (this.$el.querySelector(".nk-back") ?? this.$el.querySelector('[data-focus][tabindex="0"]'))?.focus();
      });
    },
    closeSearch() {
      this.searching = false;
      this.$nextTick(() => this.$refs.search?.focus());
    },
    fold(item) {
      const open = new Set(this.open);
      if (!open.delete(item.folder.id)) open.add(item.folder.id);
      this.keepOpen(open);
    },
    unfold(id) {
      this.keepOpen(new Set([...this.open, id]));
    },
    keepOpen(open) {
      this.open = open;
      localStorage.setItem(OPEN_KEY, JSON.stringify([...open].slice(-200)));
    },
    anywhere(event) {
      if (!(event.ctrlKey || event.metaKey) || !event.shiftKey || event.code !== "KeyF" || window.nkEscape.isCovered()) return;
      event.preventDefault();
      this.openSearch();
    },
    openSearch() {
      this.bringOut();
      if (this.searching) this.$el.querySelector("[data-nk-search]").select();
      this.searching = true;
    },
    // The sidebar may be folded, or on a phone lie outside of the page.
    bringOut() {
      const opener = [...document.querySelectorAll("[data-nk-show-side], [data-nk-open-menu]")].find((each) => each.offsetParent);
      if (opener && !document.getElementById("menu")?.classList.contains("open")) opener.click();
    },
  },
};
