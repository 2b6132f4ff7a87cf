// A panel at the page's end side: it stands beside the conversation where there is room, and slides over it where not.
// What has data-nk-drawer opens and closes it. Its contents are made when it is first opened.
const WIDE = matchMedia("(min-width: 73.75em)");
const { t } = window.nkWords;

export default {
  template: `
    <div class="nk-drawer-room">
      <div v-if="open" v-escape="close" class="nk-drawer-scrim" @click="close"></div>
      <div class="nk-drawer" :class="{ open }" :role="isWide ? 'complementary' : 'dialog'" :aria-modal="isWide ? null : 'true'" :aria-label="title" :inert="!open" ref="panel">
        <header class="nk-drawer-top">
          <h2 tabindex="-1" ref="title">{{ title }}</h2>
          <button type="button" class="nk-ib" :aria-label="t('drawer-close')" :title="t('drawer-close')" @click="close">
            <svg class="nk-i" aria-hidden="true"><use href="#nk-x"/></svg></button>
        </header>
        <div class="nk-drawer-in"><slot></slot></div>
      </div>
    </div>`,
  directives: { escape: window.nkEscape.directive },
  props: { title: String },
  emits: ["open"],
  data() {
    return { open: false, isWide: WIDE.matches };
  },
  created() {
    this.t = t;
  },
  mounted() {
    document.addEventListener("click", this.clicked);
    WIDE.addEventListener("change", this.told);
    this.told();
  },
  unmounted() {
    document.removeEventListener("click", this.clicked);
    WIDE.removeEventListener("change", this.told);
    document.querySelector(".nk-main")?.classList.remove("nk-has-drawer");
  },
  methods: {
    clicked(event) {
      if (!event.target.closest("[data-nk-drawer]")) return;
      if (this.open) this.close();
      else this.show();
    },
    show() {
      this.opener = document.activeElement;
      this.open = true;
      this.told();
      this.$emit("open");
      this.$nextTick(() => this.$refs.title.focus({ preventScroll: true }));
    },
    close() {
      const { activeElement } = document;
      const hadFocus = this.$refs.panel.contains(activeElement) || activeElement === document.body || !WIDE.matches;
      this.open = false;
      this.told();
      const button = document.querySelector("[data-nk-drawer]");
      if (hadFocus) (button?.checkVisibility() ? button : this.opener)?.focus(); // on a phone a menu has led here
    },
    // Over the page, it is all there is to be reached.
    told() {
      this.isWide = WIDE.matches;
      for (const part of document.querySelectorAll(".nk-side, .nk-main > :not(.nk-drawer-room)")) part.inert = this.open && !WIDE.matches;
      document.querySelector(".nk-main")?.classList.toggle("nk-has-drawer", this.open);
      for (const button of document.querySelectorAll("[data-nk-drawer]")) button.setAttribute("aria-expanded", String(this.open));
    },
  },
};
