// The conversation's scrolling: it stays at the end while an answer grows, unless its reader has gone up to read.
const NEAR_PX = 80;
const AWAY_PX = 240;

export default {
  template: `
    <div class="nk-talk">
      <div class="nk-chat" id="chat" ref="pane" tabindex="-1" @scroll.passive="look" @click.capture="press">
        <div class="nk-thread" ref="inner" :data-title="title"><slot></slot></div>
      </div>
      <div class="nk-dock"><div class="nk-dock-in">
        <button v-if="away" type="button" class="nk-jump" aria-label="Go to the end" @click="toEnd">
          <svg class="nk-i" aria-hidden="true"><use href="#nk-arrow-down"/></svg></button>
        <slot name="dock"></slot>
      </div></div>
      <div v-if="writing" class="nk-hearth low"></div>
    </div>`,
  props: { writing: Boolean, title: String },
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
    this.observer.observe(this.$refs.pane);
    this.settle();
  },
  unmounted() {
    this.observer.disconnect();
  },
  methods: {
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
