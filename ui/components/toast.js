// A word of confirmation at the foot of the page, with Undo where it can be undone. One at a time.
const SHOWN_MS = 10_000; // what can be undone must be reached, by whatever means

export default {
  template: `
    <div class="nk-toasts" role="status" aria-live="polite">
      <div v-if="text" class="nk-toast" @mouseenter="stay" @focusin="stay" @mouseleave="count" @focusout="count">{{ text }}<button v-if="action" type="button" @click="act">{{ action }}</button></div>
    </div>`,
  emits: ["act"],
  data() {
    return { text: "", action: "" };
  },
  unmounted() {
    clearTimeout(this.timer);
  },
  methods: {
    show(text, action, subject) {
      Object.assign(this, { text, action });
      this.subject = subject;
      this.count();
    },
    stay() {
      clearTimeout(this.timer);
    },
    count() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.hide(), SHOWN_MS);
    },
    hide() {
      this.text = "";
    },
    act() {
      this.$emit("act", this.subject);
      this.hide();
    },
  },
};
