// The conversation's scrolling: it stays at the end while an answer grows, unless its reader has gone up to read.
const NEAR_PX = 80;
const AWAY_PX = 240;
const TEMPORARY_KEY = "inglenook.temporary"; // in a tab that shows a chat which is kept nowhere: who loses it with its page is told so

export default {
  template: `
    <div class="nk-talk">
      <div class="nk-chat" id="chat" ref="pane" tabindex="-1" @scroll.passive="look" @click.capture="press">
        <div class="nk-thread" ref="inner" :data-title="title"><slot></slot></div>
      </div>
      <div class="nk-dock"><div class="nk-dock-in">
        <button v-if="away" type="button" class="nk-jump" :aria-label="t('chat-to-end')" @click="toEnd">
          <svg class="nk-i" aria-hidden="true"><use href="#nk-arrow-down"/></svg></button>
        <slot name="dock"></slot>
      </div></div>
      <div v-if="writing" class="nk-hearth low"></div>
    </div>`,
  props: { writing: Boolean, temporary: Boolean, title: String, models: { type: Array, default: () => [] } },
  provide() {
    return {
      nkModels: () => this.models, // to all answers: those that one may be tried again with
      nkKeepsDrafts: () => !this.temporary,
    };
  },
  data() {
    return { away: false };
  },
  created() {
    this.atEnd = true;
    this.scrolledTo = 0;
    this.fromEndPx = null; // set while earlier messages are being put in above what is read
  },
  mounted() {
    this.observer = new ResizeObserver(() => this.settle());
    this.observer.observe(this.$refs.inner);
    this.observer.observe(this.$refs.pane); // which settles it once it is laid out, and not before
    if (this.temporary) sessionStorage.setItem(TEMPORARY_KEY, "");
    else sessionStorage.removeItem(TEMPORARY_KEY);
  },
  unmounted() {
    if (this.temporary) sessionStorage.removeItem(TEMPORARY_KEY); // left, with its page still there
    this.observer.disconnect();
  },
  methods: {
    t: window.nkWords.t,
    distance() {
      const { scrollHeight, scrollTop, clientHeight } = this.$refs.pane;
      return scrollHeight - scrollTop - clientHeight;
    },
    // What is laid out late, above or at the end, moves the end away too: only who goes up leaves it.
    look() {
      const { scrollTop } = this.$refs.pane;
      if (this.distance() < NEAR_PX) this.atEnd = true;
      else if (scrollTop < this.scrolledTo) this.atEnd = false;
      this.scrolledTo = scrollTop;
      this.away = this.distance() > AWAY_PX;
    },
    settle() {
      const pane = this.$refs.pane;
      if (this.fromEndPx !== null) pane.scrollTop = pane.scrollHeight - this.fromEndPx;
      else if (this.atEnd) pane.scrollTop = pane.scrollHeight;
      this.fromEndPx = null;
      this.look();
    },
    toEnd() {
      this.atEnd = true;
      this.settle();
    },
    // Once it is on the page: it arrives after this call.
    reveal(id, tries = 120) {
      const message = this.$el.querySelector(`[data-message="${CSS.escape(id)}"]`);
      if (!message) return tries && requestAnimationFrame(() => this.reveal(id, tries - 1));
      this.atEnd = false;
      const place = () => message.scrollIntoView({ block: "start" });
      place();
      requestAnimationFrame(place); // what stands above may only now have its height
      message.classList.add("nk-found-message");
      message.tabIndex = -1;
      if (!document.activeElement?.matches("input, textarea")) message.focus({ preventScroll: true }); // who writes already, writes on
      message.addEventListener("animationend", () => message.classList.remove("nk-found-message"), { once: true });
      return undefined;
    },
    // Once that many messages are on the page: they arrive after this call.
    print(numMessages) {
      const isWhole = this.$el.querySelector(".nk-messages").children.length >= numMessages;
      if (isWhole) requestAnimationFrame(() => window.print());
      else requestAnimationFrame(() => this.print(numMessages));
    },
    press(event) {
      if (!event.target.closest("[data-nk-earlier]")) return;
      this.fromEndPx = this.$refs.pane.scrollHeight - this.$refs.pane.scrollTop;
    },
  },
};
