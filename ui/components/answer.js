// One answer: its text as it is written, what it waits for, what became of it, and what can be done with it.
// The text comes over a line that all answers share (talk/follow.js), in pieces with absolute offsets: a piece that comes twice does no harm.
import { copyText, inTurn, MarkdownView } from "inglenook-markdown";
import { askAgain, Branch, editable, Editor, Figures, focusIn, focusWhatTakesItsPlace, follow, reading, shortClusters, startReading, stopReading, Thought, Waiting } from "inglenook-talk";

const { t } = window.nkWords;
const COPIED_MS = 1600;
const SPOKEN_MS = 5000;
const REST = 3; // times as long as the drawing took

export default {
  template: `
    <div class="nk-answer" :data-message="messageId" :data-status="now.status">
      <thought v-if="thought" :id="'nk-thought-' + messageId" :text="thought" :figures="now.figures" :thinking="writing && !hasText"></thought>
      <waiting v-if="writing && !hasText && !thought" :wait="wait"></waiting>
      <editor v-if="editing" :message-id="messageId" :original="text" :label="t('chat-edit-answer')" :action="t('chat-edit-save')" :hint="t('chat-edit-answer-hint')"
        :refused="refused" @take="(...said) => $emit('edit', ...said)" @leave="stopEditing"></editor>
      <div v-show="hasText && !editing" class="prose" ref="prose"></div>
      <div v-if="notice && !editing" class="nk-notice" :class="notice.tone">
        <svg class="nk-i nk-i-16" aria-hidden="true"><use :href="'#nk-' + notice.icon"/></svg>
        <span class="nk-grow"><b>{{ notice.title }}</b> {{ notice.detail }}</span>
        <button v-if="last && notice.event" type="button" class="nk-btn nk-btn-quiet nk-btn-sm" @click="$emit(notice.event, null)">{{ notice.action }}</button>
      </div>
      <div v-if="!writing && !editing" class="nk-meta" :class="{ 'nk-in-use': menu }">
        <branch :version="version" :versions="versions" @branch="(by) => $emit('branch', by)"></branch>
        <span v-if="now.edited" class="nk-edited">{{ t("chat-edited") }}</span>
        <span v-if="now.figures.connection" class="nk-edited nk-far" :title="t('chat-from-elsewhere-why')">
          <svg class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-globe"/></svg>{{ t("chat-from-elsewhere", { connection: now.figures.connection }) }}</span>
        <button v-if="hasText" type="button" class="nk-ib" :aria-label="copied ? t('chat-copied') : t('chat-copy')" :title="copied ? t('chat-copied') : t('chat-copy')" @click="copy(text)">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use :href="copied ? '#nk-check' : '#nk-copy'"/></svg></button>
        <span class="nk-again">
          <button type="button" class="nk-ib" :aria-label="t('chat-again')" :title="t('chat-again')" @click="$emit('again', null)">
            <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-refresh-cw"/></svg></button>
          <button v-if="models().length > 1" type="button" class="nk-ib nk-again-with" aria-haspopup="menu" :aria-expanded="String(menu === 'again')" :aria-label="t('chat-again-with')" :title="t('chat-again-with')">
            <svg class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-chevron-down"/></svg>
            <q-menu class="nk-menu" auto-close anchor="bottom left" self="top left" :offset="[0, 6]" @show="menu = 'again'" @before-hide="menu = ''"><div role="menu" :aria-label="t('chat-again-with')">
              <button v-for="model in models()" type="button" role="menuitem" class="nk-nav nk-model" @click="$emit('again', model.id)">
                <span class="nk-dot" :class="model.dot" aria-hidden="true"></span><span class="nk-grow"><span>{{ model.name }}</span><small>{{ model.about }}</small></span></button>
            </div></q-menu></button>
        </span>
        <button v-if="hasText" type="button" class="nk-ib" ref="edit" :aria-label="t('chat-edit-answer')" :title="t('chat-edit-answer')" @click="editing = true">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-pencil"/></svg></button>
        <button type="button" class="nk-ib" :aria-label="t('chat-more')" :title="t('chat-more')" aria-haspopup="menu" :aria-expanded="String(menu === 'more')">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-ellipsis"/></svg>
          <q-menu class="nk-menu" auto-close anchor="bottom left" self="top left" :offset="[0, 6]" @show="menu = 'more'" @before-hide="menu = ''"><div role="menu">
            <button v-for="item in items" type="button" role="menuitem" class="nk-nav" @click="item.act">
              <svg class="nk-i" aria-hidden="true"><use :href="'#nk-' + item.icon"/></svg><span>{{ item.text }}</span></button>
            <hr>
            <button type="button" role="menuitem" class="nk-nav danger" @click="$emit('remove')">
              <svg class="nk-i" aria-hidden="true"><use href="#nk-trash-2"/></svg><span>{{ t("chat-delete") }}</span></button>
          </div></q-menu></button>
        <button v-if="isRead" type="button" class="nk-ib nk-reading" :aria-label="t('chat-read-stop')" :title="t('chat-read-stop')" @click="readAloud">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-square"/></svg></button>
        <figures :id="'nk-figures-' + messageId" :figures="now.figures"></figures>
      </div>
      <div class="nk-sr" aria-live="polite">{{ spoken }}</div>
    </div>`,

  components: { Branch, Editor, Figures, Thought, Waiting },
  mixins: [editable],
  inject: { models: { from: "nkModels", default: () => () => [] } },
  props: {
    messageId: String,
    content: String, // as it stood when the page was made; "" where the stream brings it all
    state: Object, // {status, finish, hopeless, error, thought, edited, figures}, see ui/components/answer.py
    version: Number,
    versions: Number,
    last: Boolean,
  },
  emits: ["again", "branch", "continue", "edit", "remove"],

  data() {
    return { now: this.state, wait: null, thought: this.state.status === "streaming" ? "" : this.state.thought, hasText: !!this.content, menu: "", copied: false, spoken: "" };
  },

  computed: {
    writing() {
      return this.now.status === "streaming";
    },
    isRead() {
      return reading.id === this.messageId;
    },
    notice() {
      const goOn = { event: "continue", action: t("chat-continue") };
      switch (this.now.status) {
        case "stopped":
          return { ...goOn, icon: "square", title: t("chat-stopped"), detail: this.hasText ? t("chat-stopped-kept") : "" };
        case "interrupted":
          return { ...goOn, tone: "warn", icon: "unplug", title: t("chat-interrupted"), detail: this.now.error || t("chat-interrupted-why") };
        case "failed":
          return { ...(!this.now.hopeless && { event: "again", action: t("chat-again") }), tone: "bad", icon: "circle-alert", title: t(this.hasText ? "chat-interrupted" : "chat-failed"), detail: this.now.error };
      }
      return this.now.finish === "length" ? { ...goOn, icon: "square", title: t("chat-cut"), detail: t("chat-cut-why") } : null;
    },
    items() {
      const goOn = this.last && this.hasText && !this.notice;
      return [
        this.hasText && { text: t("chat-copy-text"), icon: "file-text", act: () => this.copy(this.view.spoken()) },
        this.hasText && { text: t("chat-copy-markdown"), icon: "copy", act: () => this.copy(this.text) },
        this.hasText && reading.possible && { text: this.isRead ? t("chat-read-stop") : t("chat-read"), icon: this.isRead ? "square" : "volume-2", act: this.readAloud },
        goOn && { text: t("chat-go-on"), icon: "play", act: () => this.$emit("continue") },
      ].filter(Boolean);
    },
  },

  watch: {
    state(state) {
      if (this.leave) return; // the stream knows better, and says so when it ends
      this.now = state;
      this.thought = this.writing ? "" : state.thought; // it may be thought anew: the stream brings it all
      if (this.writing) this.listen();
      else this.render();
    },
  },

  created() {
    this.text = this.content;
    this.frame = this.rest = 0;
    this.restUntil = 0; // ms, as performance.now counts
    this.leave = null;
  },
  beforeUpdate() {
    this.hadFocus = this.$el.contains(document.activeElement) && { label: document.activeElement.ariaLabel };
  },
  updated() {
    if (this.hadFocus && document.activeElement === document.body) focusIn(this.$el, this.hadFocus.label);
  },
  beforeUnmount() {
    focusWhatTakesItsPlace(this.$el);
  },
  mounted() {
    this.view = new MarkdownView(this.$refs.prose, this.messageId);
    this.callOff = inTurn(() => this.render(), this.text.length);
    if (this.writing) this.listen();
  },
  unmounted() {
    if (this.isRead) stopReading();
    this.hangUp();
    this.undraw();
  },

  methods: {
    t,
    place() {
      return { offset: this.text.length, thought: this.thought.length };
    },
    listen() {
      this.leave ??= follow(this.messageId, this.place, this.take);
    },
    hangUp() {
      this.leave?.();
      this.leave = null;
    },
    take({ name, offset, piece, data }) {
      if (name === "state") this.wait = data;
      else if (name === "done") this.finish(data);
      else if (name === "gone") this.hangUp();
      else if (offset > this[name].length) askAgain(this.messageId, this.place); // a gap: from what is here
      else if (offset + piece.length > this[name].length) this.grow(name, this[name].slice(0, offset) + piece);
    },
    grow(name, text) {
      this[name] = text;
      if (name === "thought") return;
      this.hasText = true;
      this.draw();
    },
    finish(state) {
      this.hangUp();
      this.now = state;
      this.thought = state.thought;
      this.wait = null;
      this.render();
      const { title = "", detail = "" } = this.notice ?? {};
      this.spoken = `${this.view.spoken()}\n${title} ${detail}`.trim(); // for screen readers: once, when it is whole
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
      this.view.update(shortClusters(this.text), this.writing);
      this.restUntil = performance.now() + REST * (performance.now() - start);
    },
    undraw() {
      this.callOff();
      cancelAnimationFrame(this.frame);
      clearTimeout(this.rest);
      this.frame = this.rest = 0;
    },
    async copy(text) {
      this.copied = await copyText(text);
      setTimeout(() => (this.copied = false), COPIED_MS);
    },
    readAloud() {
      if (this.isRead) stopReading();
      else startReading(this.messageId, this.view.spoken());
    },
  },
};
