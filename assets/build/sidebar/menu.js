// The menu of a chat, of several, or of a folder; where to move them; and their tags. One popup for the whole list.
const t = (...said) => window.nkWords.t(...said);

const Item = {
  props: { icon: String, label: String, danger: Boolean, checked: { type: Boolean, default: null }, depth: { type: Number, default: 0 } },
  template: `
    <button type="button" class="nk-nav" :class="{ danger }" :role="checked === null ? 'menuitem' : 'menuitemcheckbox'"
      :aria-checked="checked === null ? null : String(checked)" :style="{ paddingInlineStart: depth ? 8 + 26 * depth + 'px' : null }">
      <svg v-if="icon" class="nk-i" aria-hidden="true"><use :href="'#nk-' + icon"/></svg>
      <span class="nk-ell nk-grow" dir="auto">{{ label }}</span>
      <svg v-if="checked" class="nk-i nk-i-16 nk-end" aria-hidden="true"><use href="#nk-check"/></svg>
    </button>`,
};

export const SideMenu = {
  components: { Item },
  props: { folders: Array, tags: Array },
  emits: ["act", "rename", "rename-folder", "select", "print", "settings", "closed"],
  template: `
    <q-menu v-model="isOpen" :target="target" no-parent-event :anchor="anchor" :self="corner" :offset="[0, 4]"
      ref="popup" :touch-position="at !== null" class="nk-menu nk-side-menu" :role="field ? 'dialog' : 'none'" :aria-label="heading || null" @hide="hidden" @show="shown">
      <div ref="list" :role="field ? null : 'menu'" @contextmenu="byKey">
        <template v-if="mode === 'chat'">
          <template v-if="settings"><Item icon="sliders-horizontal" :label="settings" @click="leave('settings')"/><hr></template>
          <Item v-if="row.archived" icon="archive-restore" :label="t('sidebar-unarchive')" @click="act({ do: 'unarchive' })"/>
          <Item v-else :icon="row.pinned ? 'pin-off' : 'pin'" :label="t(row.pinned ? 'sidebar-unpin' : 'sidebar-pin')" @click="act({ do: row.pinned ? 'unpin' : 'pin' })"/>
          <Item v-if="row.above" icon="arrow-up" :label="t('sidebar-pin-up')" @click="act({ do: 'pin', before: row.above })"/>
          <Item icon="pencil" :label="t('sidebar-rename')" @click="leave('rename', row)"/>
          <Item icon="folder-input" :label="t('sidebar-move-to')" @click="go('move')"/>
          <Item icon="tag" :label="t('sidebar-tags')" @click="go('tags')"/>
          <Item icon="square-check" :label="t('sidebar-select')" @click="leave('select', row)"/>
          <Item v-if="!row.archived" icon="archive" :label="t('sidebar-archive')" @click="act({ do: 'archive' })"/>
          <hr>
          <a class="nk-nav" role="menuitem" download :href="exportOf('json')" @click="close">
            <svg class="nk-i" aria-hidden="true"><use href="#nk-download"/></svg>{{ t('sidebar-export', { form: 'JSON' }) }}</a>
          <a class="nk-nav" role="menuitem" download :href="exportOf('markdown')" @click="close">
            <svg class="nk-i" aria-hidden="true"><use href="#nk-file-text"/></svg>{{ t('sidebar-export', { form: 'Markdown' }) }}</a>
          <Item icon="printer" :label="t('sidebar-print')" @click="leave('print', row.id)"/>
          <hr>
          <Item icon="trash-2" danger :label="t('sidebar-delete')" @click="act({ do: 'delete' })"/>
        </template>
        <template v-else-if="mode === 'folder'">
          <Item icon="pencil" :label="t('sidebar-rename')" @click="leave('rename-folder', folder)"/>
          <Item v-if="!folder.parent" icon="folder-plus" :label="t('sidebar-folder-inside')" @click="go('new')"/>
          <Item v-if="above" icon="arrow-up" :label="t('sidebar-folder-up')" @click="place(folder.parent, above)"/>
          <Item v-if="below !== undefined" icon="arrow-down" :label="t('sidebar-folder-down')" @click="place(folder.parent, below)"/>
          <Item v-if="folder.parent" icon="folder-output" :label="t('sidebar-folder-out')" @click="place(null, null)"/>
          <hr>
          <Item icon="trash-2" danger :label="t('sidebar-folder-delete')" @click="act({ do: 'delete_folder', folder: folder.id })"/>
        </template>
        <template v-else>
          <div class="nk-menu-note">{{ heading }}</div>
          <div v-if="mode === 'move'" role="menu" :aria-label="heading">
            <Item icon="message-square" :label="t('sidebar-no-folder')" @click="act({ do: 'move', folder: null })"/>
            <Item v-for="each in folders" :key="each.id" icon="folder" :label="each.name" :depth="each.parent ? 1 : 0" @click="act({ do: 'move', folder: each.id })"/>
          </div>
          <div v-if="mode === 'tags' && tags.length" role="menu" :aria-label="heading">
            <Item v-for="each in tags" :key="each.id" icon="tag" :label="each.name" :checked="given.has(each.name)" @click="turn(each)"/>
          </div>
          <form class="nk-menu-form" @submit.prevent="submit" @keydown.home.stop @keydown.end.stop>
            <label class="nk-input nk-input-sm"><input v-model="text" maxlength="100" :placeholder="field" :aria-label="field"></label>
            <button type="submit" class="nk-btn nk-btn-quiet nk-btn-sm" :disabled="!text.trim()">{{ t('sidebar-add') }}</button>
          </form>
        </template>
      </div>
    </q-menu>`,
  data() {
    return { isOpen: false, mode: "chat", target: false, row: {}, folder: {}, ids: [], given: new Set(), text: "", settings: "", at: null, anchor: "bottom right", corner: "top right" };
  },
  computed: {
    heading() {
      return { move: t("sidebar-move-to"), tags: t("sidebar-tags"), new: t("sidebar-folder-new") }[this.mode];
    },
    field() {
      return { move: t("sidebar-folder-new"), tags: t("sidebar-tag-new"), new: t("sidebar-folder-name") }[this.mode];
    },
    siblings() {
      return this.folders.filter((each) => each.parent === this.folder.parent).map((each) => each.id);
    },
    above() {
      return this.siblings[this.siblings.indexOf(this.folder.id) - 1];
    },
    // In front of which one it stands when it goes down by one: null is the end, undefined: it is last.
    below() {
      const at = this.siblings.indexOf(this.folder.id);
      return at === this.siblings.length - 1 ? undefined : (this.siblings[at + 2] ?? null);
    },
  },
  methods: {
    t,
    // `at`: a pointer's event, to open there. `settings`: what the way to the chat's settings is called, if it is here.
    open(mode, target, { row = {}, folder = {}, ids = [], given = [], settings = "", at = null } = {}) {
      if (this.isOf(target) && !at) return this.close();
      const fromBelow = target.getBoundingClientRect().top > window.innerHeight * 0.7;
      Object.assign(this, { mode, row, folder, ids, given: new Set(given), text: "", settings, at, target });
      if (at) this.anchor = this.corner = "top left";
      else [this.anchor, this.corner] = fromBelow ? ["top right", "bottom right"] : ["bottom right", "top right"];
      return void this.$nextTick(() => this.$refs.popup.show(at ?? undefined));
    },
    // It is open, and this is its button.
    isOf(target) {
      return this.isOpen && this.target === target;
    },
    close() {
      this.isOpen = false;
    },
    // Windows calls for the browser's own menu when the key that has opened this one is released.
    byKey(event) {
      if (event.button !== 2 && !event.target.closest("input")) event.preventDefault();
    },
    hidden() {
      this.$emit("closed");
    },
    go(mode) {
      this.mode = mode;
      this.text = "";
      this.$nextTick(() => {
        this.$refs.popup.updatePosition(); // it is longer now, or shorter
        this.focusFirst();
      });
    },
    // Whoever was quicker with the arrows than the menu stays where they are.
    shown() {
      if (!this.$refs.list?.contains(document.activeElement)) this.focusFirst();
    },
    focusFirst() {
      const isField = this.mode === "new" || (this.mode === "tags" && !this.tags.length);
      this.$refs.list?.querySelector(isField ? "input" : "a, button")?.focus();
    },
    act(what) {
      this.close();
      this.$emit("act", { ids: this.ids, ...what });
    },
    leave(event, what) {
      this.close();
      this.$emit(event, what);
    },
    place(parent, before) {
      this.act({ do: "place_folder", folder: this.folder.id, parent, before });
    },
    turn(tag) {
      const isGiven = this.given.delete(tag.name);
      if (!isGiven) this.given.add(tag.name);
      this.$emit("act", { ids: this.ids, ...(isGiven ? { do: "untag", tag: tag.id } : { do: "tag", name: tag.name }), keep: true });
    },
    submit() {
      const name = this.text.trim();
      if (!name) return;
      if (this.mode === "tags") {
        this.given.add(name);
        this.text = "";
        this.$emit("act", { do: "tag", ids: this.ids, name, keep: true });
      } else {
        this.act({ do: "create_folder", name, parent: this.mode === "new" ? (this.folder.id ?? null) : null, ids: this.mode === "move" ? this.ids : [] });
      }
    },
    exportOf(form) {
      return `${window.path_prefix || ""}/chats/${this.row.id}/export?form=${form}`;
    },
  },
};
