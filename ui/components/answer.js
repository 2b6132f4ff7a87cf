// One answer: its text as it is written, what it waits for, what became of it, and what can be done with it.
// The text comes over a stream of its own (ui/stream.py), in pieces with absolute offsets: a piece that comes twice does no harm.
import { copyText, inTurn, MarkdownView } from "inglenook-markdown";

const RETRY_MS = 2000;
const COPIED_MS = 1600;
const SPOKEN_MS = 5000;
const REST = 3; // times as long as the drawing took

// Keyboards go on where they were: at the same button of the answer that took this one's place, or in the conversation.
function focusAgain(label) {
  const button = [...document.querySelectorAll(".nk-answer:last-child .nk-ib")].find((each) => each.ariaLabel === label);
  const useful = button?.disabled ? button.parentElement.querySelector(":enabled") : button;
  (useful ?? document.getElementById("chat"))?.focus({ preventScroll: true });
}

export default {
  template: `
    <div class="nk-answer" :data-message="messageId" :data-status="now.status">
      <template v-if="now.reasoning">
        <button type="button" class="nk-think" :aria-expanded="String(unfolded)" @click="unfolded = !unfolded">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-brain"/></svg>Thought first
          <svg class="nk-i nk-i-14" aria-hidden="true"><use :href="unfolded ? '#nk-chevron-down' : '#nk-chevron-right'"/></svg>
        </button>
        <p v-if="unfolded" class="nk-thought">{{ now.reasoning }}</p>
      </template>
      <p v-if="now.left_out" class="nk-hint nk-left-out">The oldest {{ now.left_out === 1 ? "message" : now.left_out + " messages" }} of this chat no longer fit, so the model did not see {{ now.left_out === 1 ? "it" : "them" }}.</p>
      <div v-if="writing && !hasText" class="nk-wait" role="status">
        <span v-if="now.wait?.loading" class="nk-spin nk-spin-ember"></span>
        <span v-else class="nk-embers"><i></i><i></i><i></i></span>
        <span v-if="now.wait?.title"><b>{{ now.wait.title }}</b> {{ now.wait.detail }}</span>
      </div>
      <div v-show="hasText" class="prose" ref="prose"></div>
      <div v-if="notice" class="nk-notice" :class="notice.tone">
        <svg class="nk-i nk-i-16" aria-hidden="true"><use :href="'#nk-' + notice.icon"/></svg>
        <span class="nk-grow"><b>{{ notice.title }}</b> {{ notice.detail }}</span>
        <button v-if="last" type="button" class="nk-btn nk-btn-quiet nk-btn-sm" @click="$emit(notice.event)">{{ notice.action }}</button>
      </div>
      <div v-if="!writing" class="nk-meta">
        <span v-if="versions > 1" class="nk-branch">
          <button type="button" class="nk-ib" aria-label="Previous version" :disabled="version === 1" @click="$emit('branch', -1)">
            <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-chevron-left"/></svg></button>
          <span>{{ version }}/{{ versions }}</span>
          <button type="button" class="nk-ib" aria-label="Next version" :disabled="version === versions" @click="$emit('branch', 1)">
            <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-chevron-right"/></svg></button>
        </span>
        <button v-if="hasText" type="button" class="nk-ib" :aria-label="copied ? 'Copied' : 'Copy'" :title="copied ? 'Copied' : 'Copy'" @click="copyAll">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use :href="copied ? '#nk-check' : '#nk-copy'"/></svg></button>
        <button type="button" class="nk-ib" aria-label="Try again" title="Try again" @click="$emit('again')">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-refresh-cw"/></svg></button>
        <span class="nk-stats"><span v-for="(stat, index) in now.stats" :class="{ 'nk-hide-xs': index > 2 }">{{ stat }}</span></span>
      </div>
      <div class="nk-sr" aria-live="polite">{{ spoken }}</div>
    </div>`,

  props: {
    messageId: String,
    content: String, // as it stood when the page was made; "" where the stream brings it all
    state: Object, // {status, finish, error, reasoning, stats}, see ui/components/answer.py
    version: Number,
    versions: Number,
    last: Boolean,
  },
  emits: ["again", "branch", "continue"],

  data() {
    return { now: { ...this.state, wait: null }, hasText: !!this.content, unfolded: false, copied: false, spoken: "" };
  },

  computed: {
    writing() {
      return this.now.status === "streaming";
    },
    notice() {
      const goOn = { event: "continue", action: "Continue" };
      switch (this.now.status) {
        case "stopped":
          return { ...goOn, icon: "square", title: "Stopped.", detail: this.hasText ? "What was written is kept." : "" };
        case "interrupted":
          return { ...goOn, tone: "warn", icon: "unplug", title: "Interrupted.", detail: this.now.error || "The answer stopped here." };
        case "failed":
          return { event: "again", action: "Try again", tone: "bad", icon: "circle-alert", title: "No answer.", detail: this.now.error };
      }
      return this.now.finish === "length" ? { ...goOn, icon: "square", title: "Cut short.", detail: "It reached its limit of length." } : null;
    },
  },

  watch: {
    state(state) {
      if (this.source) return; // the stream knows better, and says so when it ends
      this.now = { ...state, wait: null };
      if (this.writing) this.listen();
      else this.render();
    },
  },

  created() {
    this.text = this.content;
    this.frame = this.rest = 0;
    this.restUntil = 0; // ms, as performance.now counts
    this.source = null;
    this.retry = 0;
  },
  beforeUpdate() {
    this.hadFocus = this.$el.contains(document.activeElement);
  },
  updated() {
    if (this.hadFocus && document.activeElement === document.body) focusAgain();
  },
  beforeUnmount() {
    if (!this.$el.contains(document.activeElement)) return;
    const { ariaLabel } = document.activeElement;
    setTimeout(() => focusAgain(ariaLabel));
  },
  mounted() {
    this.view = new MarkdownView(this.$refs.prose, this.messageId);
    this.callOff = inTurn(() => this.render());
    if (this.writing) this.listen();
  },
  unmounted() {
    this.hangUp();
    this.undraw();
  },

  methods: {
    listen() {
      this.hangUp();
      this.source = new EventSource(`${window.path_prefix || ""}/ui/stream/${this.messageId}?offset=${this.text.length}`);
      this.source.onmessage = (event) => this.take(...JSON.parse(event.data));
      this.source.addEventListener("state", (event) => this.waitFor(JSON.parse(event.data)));
      this.source.addEventListener("done", (event) => this.finish(JSON.parse(event.data)));
      this.source.onerror = () => {
        // A dropped line comes back by itself; an answer other than 200 closes the stream for good.
        if (this.source.readyState === EventSource.CLOSED) this.retry = setTimeout(() => this.listen(), RETRY_MS);
      };
    },
    hangUp() {
      clearTimeout(this.retry);
      this.source?.close();
      this.source = null;
    },
    waitFor({ left_out, ...wait }) {
      Object.assign(this.now, { wait, left_out });
    },
    take(offset, piece) {
      if (offset > this.text.length) return this.listen(); // a gap: ask again from what is here
      if (offset + piece.length <= this.text.length) return;
      this.text = this.text.slice(0, offset) + piece;
      this.hasText = true;
      this.draw();
    },
    finish(state) {
      this.hangUp();
      this.now = { ...state, wait: null };
      this.render();
      this.spoken = this.view.spoken(); // for screen readers: once, when it is whole
      setTimeout(() => (this.spoken = ""), SPOKEN_MS);
    },
    // At the next frame; after one that took long the page gets its turn first, so that a slow device stays usable.
    draw() {
      if (this.frame || this.rest) return;
      const wait = this.restUntil - performance.now();
      if (wait <= 0) this.frame = requestAnimationFrame(() => this.render());
      else this.rest = setTimeout(() => ((this.rest = 0), this.draw()), wait);
    },
    render() {
      this.undraw();
      const start = performance.now();
      this.view.update(this.text, this.writing);
      this.restUntil = performance.now() + REST * (performance.now() - start);
    },
    undraw() {
      this.callOff();
      cancelAnimationFrame(this.frame);
      clearTimeout(this.rest);
      this.frame = this.rest = 0;
    },
    async copyAll() {
      this.copied = await copyText(this.text);
      setTimeout(() => (this.copied = false), COPIED_MS);
    },
  },
};
