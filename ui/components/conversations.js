// The list of chats in the sidebar, with a menu a row. Links are real ones: they open in a new tab like any other.
export default {
  template: `
    <div class="nk-side-scroll">
      <template v-for="(item, index) in items" :key="item.id">
        <div v-if="item.group !== items[index - 1]?.group" class="nk-group">{{ item.group }}</div>
        <form v-if="renaming === item.id" class="nk-rename" @submit.prevent="close(item, true)">
          <label class="nk-input nk-input-sm"><input ref="title" v-model="title" maxlength="200" aria-label="New title"
            @keydown.esc.stop="close(item)" @blur="rename(item)"></label>
        </form>
        <div v-else class="nk-nav" :class="{ on: item.id === active }">
          <a class="nk-nav-link nk-ell" data-nk-close-menu dir="auto" :data-chat="item.id" :href="'/c/' + item.id" :aria-current="item.id === active ? 'page' : null"
             :title="item.title" @click.exact.prevent="$emit('open', item.id)">{{ item.title }}</a>
          <span v-if="item.writing" class="nk-live" title="Writing an answer" role="img" aria-label="Writing an answer"></span>
          <button type="button" class="nk-ib nk-ib-sm nk-more" :aria-label="'Menu of ' + item.title" aria-haspopup="menu"
                  :aria-expanded="String(open === item.id)">
            <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-ellipsis"/></svg>
            <q-menu auto-close anchor="bottom right" self="top right" :offset="[0, 4]" class="nk-menu"
                    @before-show="open = item.id" @hide="open = null">
              <div role="menu">
                <button type="button" class="nk-nav" role="menuitem" @click="startRename(item)">
                  <svg class="nk-i" aria-hidden="true"><use href="#nk-pencil"/></svg>Rename</button>
                <a class="nk-nav" role="menuitem" download :href="exportOf(item, 'json')">
                  <svg class="nk-i" aria-hidden="true"><use href="#nk-download"/></svg>Export as JSON</a>
                <a class="nk-nav" role="menuitem" download :href="exportOf(item, 'markdown')">
                  <svg class="nk-i" aria-hidden="true"><use href="#nk-file-text"/></svg>Export as Markdown</a>
                <button type="button" class="nk-nav" role="menuitem" @click="$emit('print', item.id)">
                  <svg class="nk-i" aria-hidden="true"><use href="#nk-printer"/></svg>Print</button>
                <hr>
                <button type="button" class="nk-nav danger" role="menuitem" @click="$emit('delete', item.id)">
                  <svg class="nk-i" aria-hidden="true"><use href="#nk-trash-2"/></svg>Delete</button>
              </div>
            </q-menu>
          </button>
        </div>
      </template>
      <button v-if="more" type="button" class="nk-nav nk-nav-more" @click="$emit('more')">Show earlier chats</button>
      <p v-if="!items.length" class="nk-side-empty">Chats you start will stand here.</p>
    </div>`,
  props: { items: Array, active: String, more: Boolean },
  emits: ["open", "rename", "delete", "print", "more"],
  data() {
    return { renaming: null, title: "", open: null /* whose menu is: its button stays, to get the focus back */ };
  },
  beforeUpdate() {
    this.hadFocus = this.$el.contains(document.activeElement);
  },
  updated() {
    // What had the focus was deleted, here or elsewhere: keyboards go on from the list's beginning.
    if (!this.hadFocus || document.activeElement !== document.body) return;
    (this.$el.querySelector(".nk-nav-link") ?? document.querySelector("[data-nk-new-chat]")).focus();
  },
  methods: {
    exportOf(item, form) {
      return `${window.path_prefix || ""}/chats/${item.id}/export?form=${form}`;
    },
    startRename(item) {
      this.title = item.title;
      this.renaming = item.id;
      this.selectTitle();
    },
    selectTitle() {
      // The menu that led here holds the focus until it is gone.
      if (document.querySelector(".q-menu")) requestAnimationFrame(this.selectTitle);
      else this.$nextTick(() => this.$refs.title?.[0]?.select());
    },
    rename(item) {
      if (this.renaming !== item.id) return;
      this.renaming = null;
      const title = this.title.trim();
      if (title && title !== item.title) this.$emit("rename", { id: item.id, title });
    },
    close(item, isMeant = false) {
      if (isMeant) this.rename(item);
      this.renaming = null;
      this.$nextTick(() => this.$el.querySelector(`[data-chat="${item.id}"]`)?.focus());
    },
  },
};
