// Where people write. What is written is kept in this browser until the server has taken it: a reload, and a restart, included.
import { prompts } from "inglenook-composer";

const MAX_SENT = 990_000; // characters of the message to the server, in which some are written with two, three or seven
const COUNTED = 1_500; // characters from which on it is told how long the text is
const KEEP_LONG_MS = 500;
const TEMPORARY_KEY = "inglenook.temporary"; // of thread.js
const CHARS_A_TOKEN = 4; // of text in Latin letters; of others, about one

// On a phone the keyboard would cover the page before it was seen.
const HAS_KEYBOARD = matchMedia("(hover: hover)");
const { t } = window.nkWords;
const { LONG, fit, short, whole } = window.nkFields;

let writtenOn = ""; // after the first message of a chat, before its page was there
let heldOn = false; // and to be sent, by Enter

export default {
  mixins: [prompts],
  template: `
    <form class="nk-composer" :class="{ 'is-temporary': temporary }" @submit.prevent="submit">
      <div v-if="isChoosing" class="nk-slash">
        <div v-if="found.length" role="listbox" :id="listId" :aria-label="t('composer-prompts')" ref="list">
          <div v-for="(prompt, index) in found" :key="prompt.id" role="option" class="nk-nav" :class="{ on: index === active }" :id="listId + index"
               :aria-selected="String(index === active)" @mousemove="active = index" @mousedown.prevent @click="choose(prompt)">
            <span class="nk-slash-command">/{{ prompt.command }}</span><span class="nk-ell nk-grow">{{ prompt.name }}</span></div>
        </div>
        <p v-else class="nk-slash-none" role="status">{{ t("composer-no-prompts") }}</p>
        <a class="nk-slash-more" href="/library" @mousedown.prevent @click="unslash">{{ t("composer-manage-prompts") }}</a>
      </div>
      <textarea ref="box" rows="1" v-model="text" data-nk-composer :dir="isLong ? null : 'auto'" :placeholder="placeholder" :aria-label="t('composer-message')"
                enterkeyhint="send" :aria-invalid="problem ? 'true' : null" v-bind="combobox" @input="typed" @keydown="pressed" @click="look" @blur="leave"></textarea>
      <p v-if="problem" class="nk-hint bad" role="alert">
        <svg class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-circle-alert"/></svg>{{ problem }}</p>
      <p v-else-if="isHeld && (writing || sending)" class="nk-hint" role="status">{{ t("composer-held") }}</p>
      <p v-else-if="isOver" class="nk-hint" role="status">
        <svg class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-circle-alert"/></svg>{{ t("composer-over", { window }) }}</p>
      <p v-else-if="isGone" class="nk-hint" role="status">{{ t("composer-temporary-gone") }}</p>
      <div class="nk-tools">
        <button type="button" class="nk-ib" :aria-label="t('composer-prompts')" :title="t('composer-prompts')" @mousedown.prevent @click="slashHere">
          <svg class="nk-i" aria-hidden="true"><use href="#nk-square-slash"/></svg></button>
        <button v-if="reasoning !== null" type="button" class="nk-chip" :class="{ on: reasoning }" :aria-pressed="String(reasoning)" @click="$emit('think', !reasoning)">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-brain"/></svg>{{ t("composer-think") }}</button>
        <span class="nk-grow"></span>
        <span v-if="length" class="nk-length nk-num">{{ length }}</span>
        <button v-if="writing" v-escape="stop" type="button" class="nk-send stop" :aria-label="t('composer-stop')" :title="t('composer-stop')" @click="stop">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-square"/></svg></button>
        <button v-else type="submit" class="nk-send" :aria-label="t('composer-send')" :title="t('composer-send')" :disabled="!text.trim() || sending">
          <svg class="nk-i nk-i-20" aria-hidden="true"><use href="#nk-arrow-up"/></svg></button>
      </div>
    </form>`,
  directives: { escape: window.nkEscape.directive },
  props: {
    placeholder: String,
    writing: Boolean,
    draft: String, // names the chat whose draft this is; "": it is kept nowhere
    temporary: Boolean,
    begins: Boolean, // a new chat
    window: Number, // tokens that the model sees at once; 0: nobody knows
    reasoning: { type: Boolean, default: null }, // null: the model cannot be told
  },
  emits: ["send", "stop", "slash", "prompt", "think"],
  data() {
    return { text: "", problem: "", isGone: false, isHeld: false, sending: false };
  },
  computed: {
    isLong() {
      return this.text.length > LONG;
    },
    length() {
      if (this.text.length < COUNTED) return "";
      return t("composer-length", { characters: this.text.length, tokens: this.tokens });
    },
    tokens() {
      return this.text.length < COUNTED ? 0 : estimate(this.text);
    },
    isOver() {
      return this.window > 0 && this.tokens > this.window;
    },
    key() {
      return this.draft && `inglenook.draft.${this.draft}`;
    },
  },
  watch: {
    writing(now) {
      if (!now) this.isHeld = false;
    },
    key(now, before) {
      if (before) this.forget(before); // the chat became a temporary one
      if (now) this.keep();
    },
  },
  created() {
    this.t = t;
  },
  mounted() {
    this.text = (this.key && (sessionStorage.getItem(this.key) ?? localStorage.getItem(this.key))) || "";
    if (writtenOn && !this.begins) {
      this.text = writtenOn;
      this.isHeld = heldOn;
      this.keep();
      writtenOn = "";
    }
    this.$nextTick(() => {
      if (this.text) this.grow();
      this.focus();
      this.isGone = this.begins && sessionStorage.getItem(TEMPORARY_KEY) !== null; // now, so that it is heard
    });
  },
  unmounted() {
    clearTimeout(this.keeping);
    if (this.sending) {
      this.forget(this.key); // taken, and the page went on to the new chat
      if (this.begins) [writtenOn, heldOn] = [this.rest(), this.isHeld];
    } else if (this.isUnkept) this.keep(); // else another tab may have kept more since, or sent it
  },
  methods: {
    focus() {
      if (HAS_KEYBOARD.matches) this.$refs.box.focus();
    },
    typed() {
      this.problem = "";
      if (this.isGone) sessionStorage.removeItem(TEMPORARY_KEY); // it was read
      this.isGone = false;
      this.isUnkept = true;
      this.grow();
      clearTimeout(this.keeping);
      if (this.isLong) this.keeping = setTimeout(this.keep, KEEP_LONG_MS);
      else this.keep();
      this.look();
    },
    keep() {
      this.isUnkept = false;
      if (!this.key) return;
      for (const storage of [sessionStorage, localStorage]) {
        if (this.text) storage.setItem(this.key, this.text);
        else storage.removeItem(this.key);
      }
    },
    forget(key) {
      for (const storage of [sessionStorage, localStorage]) storage.removeItem(key);
    },
    grow() {
      fit(this.$refs.box);
    },
    pressed(event) {
      if (event.isComposing || event.keyCode === 229) return; // an input method's own keys, of whichever language
      if (this.isOffering && this.walk(event)) event.preventDefault();
      else if (event.key === "Enter" && !event.shiftKey) {
        if (document.body.dataset.nkEnter === "newline" && !event.ctrlKey && !event.metaKey) return; // its writer's choice
        event.preventDefault();
        this.submit();
      } else if (event.key === "ArrowUp" && !this.text && !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        [...document.querySelectorAll("[data-nk-edit-mine]")].at(-1)?.click();
      }
    },
    submit() {
      this.leave();
      if (!this.text.trim()) return;
      if (this.sending || this.writing) {
        this.problem = "";
        this.isHeld = this.writing || this.rest().trim() !== ""; // until the answer has ended
        return;
      }
      const text = whole(this.text);
      if (JSON.stringify(JSON.stringify(text)).length > MAX_SENT) {
        this.problem = t("composer-too-long");
        return;
      }
      this.problem = "";
      this.isHeld = false;
      this.sending = true;
      this.sent = this.text;
      this.$emit("send", text);
      this.focus();
    },
    stop() {
      this.$emit("stop");
      this.focus(); // the button goes
    },
    // Before what is written already; in the place of what this put in last, if nothing was written since. The caret stands
    // where it is gone on.
    fill(text) {
      const start = short(text);
      const written = this.text === this.filled ? "" : this.text;
      this.filled = start;
      this.text = start + written;
      this.$nextTick(() => {
        this.$refs.box.focus();
        this.$refs.box.setSelectionRange(start.length, start.length);
        this.typed();
      });
    },
    accept() {
      clearTimeout(this.keeping);
      this.text = this.rest();
      this.sending = false;
      this.$nextTick(() => this.grow());
      this.keep();
    },
    // What was written on while the message was on its way.
    rest() {
      return this.text.startsWith(this.sent) ? this.text.slice(this.sent.length).trimStart() : this.text;
    },
    refuse(problem) {
      this.sending = false;
      this.problem = problem;
    },
  },
};

function estimate(text) {
  const sample = text.slice(0, LONG);
  const numOther = (sample.match(/[^\u0000-\u024f]/g) ?? []).length;
  const tokens = numOther + (sample.length - numOther) / CHARS_A_TOKEN;
  return Number(((tokens * text.length) / sample.length).toPrecision(2));
}
