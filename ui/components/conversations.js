// The list of chats in the sidebar, with a menu a row. Links are real ones: they open in a new tab like any other.
export default {
  template: `
    <div class="nk-side-scroll">
      <template v-for="(item, index) in items" :key="item.id">
        <div v-if="item.group !== items[index - 1]?.group" class="nk-group">{{ item.group }}</div>
        <form v-if="renaming === item.id" class="nk-rename" @submit.prevent="rename(item)">
          <label class="nk-input nk-input-sm"><input ref="title" v-model="title" maxlength="200" aria-label="New title"
            @keydown.esc="renaming = null" @blur="rename(item)"></label>
        </form>
        <div v-else class="nk-nav" :class="{ on: item.id === active }">
          <a class="nk-nav-link nk-ell" :href="'/c/' + item.id" :aria-current="item.id === active ? 'page' : null"
             :title="item.title" @click.exact="open($event, item)">{{ item.title }}</a>
          <span v-if="item.writing" class="nk-live" title="Writing an answer" role="img" aria-label="Writing an answer"></span>
          <button type="button" class="nk-ib nk-ib-sm nk-more" :aria-label="'Menu of ' + item.title" aria-haspopup="menu">
            <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-ellipsis"/></svg>
            <q-menu auto-close anchor="bottom right" self="top right" :offset="[0, 4]" class="nk-menu">
              <div role="menu">
                <button type="button" class="nk-nav" role="menuitem" @click="startRename(item)">
                  <svg class="nk-i" aria-hidden="true"><use href="#nk-pencil"/></svg>Rename</button>
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
  emits: ["open", "rename", "delete", "more"],
  data() {
    return { renaming: null, title: "" };
  },
  methods: {
    open(event, item) {
      event.preventDefault();
      document.getElementById("menu").classList.remove("open");
      this.$emit("open", item.id);
    },
    startRename(item) {
      this.title = item.title;
      this.renaming = item.id;
      // The closing menu takes the focus back to its button first.
      requestAnimationFrame(() => this.$refs.title?.[0]?.select());
    },
    rename(item) {
      if (this.renaming !== item.id) return;
      this.renaming = null;
      const title = this.title.trim();
      if (title && title !== item.title) this.$emit("rename", { id: item.id, title });
    },
  },
};
