// A field on top of a long menu: what is typed hides the items (data-nk-filter) that do not hold it.
export default {
  template: `
    <label class="nk-menu-filter">
      <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-search"/></svg>
      <input ref="box" type="search" v-model="wanted" :placeholder="label" :aria-label="label" autocomplete="off" @keydown.enter.prevent="first">
    </label>`,
  props: { label: String },
  data() {
    return { wanted: "" };
  },
  watch: {
    wanted() {
      const words = this.wanted.toLowerCase().split(/\s+/);
      for (const item of this.items()) item.hidden = !words.every((word) => item.textContent.toLowerCase().includes(word));
    },
  },
  mounted() {
    this.$nextTick(() => this.$refs.box.focus());
  },
  methods: {
    items() {
      return this.$el.closest(".nk-menu").querySelectorAll("[data-nk-filter]");
    },
    first() {
      [...this.items()].find((item) => !item.hidden)?.click();
    },
  },
};
