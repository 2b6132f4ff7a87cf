// The line of figures under an answer, and all of them in a sheet over it: by hover, by tap, by keyboard.
import { inFull, inShort } from "./numbers.js";

const { t } = window.nkWords;
const HOVER_MS = 350;
const GAP_PX = 6;

export const Figures = {
  template: `
    <button v-if="stats.length" type="button" class="nk-stats" ref="line" :aria-expanded="String(open)" :aria-controls="id"
        @click="pin" @mouseenter="soon" @mouseleave="later" @blur="close">
      <span class="nk-sr">{{ t("chat-figures") }}: </span><span v-for="(stat, index) in stats" :class="{ 'nk-ell': stat === figures.model, 'nk-hide-xs': index > 2 }">{{ stat }}</span>
    </button>
    <div v-if="stats.length" popover="manual" class="nk-figures" :id="id" ref="sheet" role="region" :aria-label="t('chat-figures')">
      <dl v-if="open" v-escape="close"><template v-for="[name, value] in inFull(figures)"><dt>{{ name }}</dt><dd>{{ value }}</dd></template></dl>
    </div>`,
  directives: { escape: window.nkEscape.directive },
  props: { id: String, figures: Object }, // see ui/components/answer.py
  data() {
    return { open: false };
  },
  computed: {
    stats() {
      return inShort(this.figures);
    },
  },
  created() {
    this.pinned = false;
    this.timer = 0;
  },
  unmounted() {
    clearTimeout(this.timer);
    removeEventListener("scroll", this.close, true);
  },
  methods: {
    t,
    pin() {
      if (this.pinned) return this.close();
      this.show();
      this.pinned = true;
    },
    soon() {
      this.timer = setTimeout(this.show, HOVER_MS);
    },
    later() {
      clearTimeout(this.timer);
      if (!this.pinned) this.close();
    },
    inFull,
    async show() {
      const { line, sheet } = this.$refs;
      if (this.open || !line) return;
      this.open = true;
      await this.$nextTick();
      sheet.showPopover();
      const at = line.getBoundingClientRect();
      const above = at.top - sheet.offsetHeight - GAP_PX;
      sheet.style.top = `${above > GAP_PX ? above : at.bottom + GAP_PX}px`;
      sheet.style.left = `${Math.max(12, Math.min(at.right, innerWidth - 12) - sheet.offsetWidth)}px`;
      addEventListener("scroll", this.close, { capture: true, once: true });
    },
    close() {
      clearTimeout(this.timer);
      this.pinned = false;
      if (!this.open) return;
      this.open = false;
      this.$refs.sheet?.hidePopover();
    },
  },
};
