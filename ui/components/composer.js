// Where people write. What is written is kept in this tab until the server has taken it, a reload included.
const MAX_SENT = 990_000; // characters of the message to the server, in which some are written with two, three or seven
const LONG = 10_000; // characters: more than the field ever shows, and too many to be gone through at each key
const KEEP_LONG_MS = 500;

// On a phone the keyboard would cover the page before it was seen.
const HAS_KEYBOARD = matchMedia("(hover: hover)");

export default {
  template: `
    <form class="nk-composer" @submit.prevent="submit">
      <textarea ref="box" rows="1" v-model="text" :dir="isLong ? null : 'auto'" :placeholder="placeholder" aria-label="Message" enterkeyhint="send"
                :aria-invalid="problem ? 'true' : null" @input="typed" @keydown.enter="enter"></textarea>
      <p v-if="problem" class="nk-hint bad" role="alert">
        <svg class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-circle-alert"/></svg>{{ problem }}</p>
      <div class="nk-tools">
        <span class="nk-grow"></span>
        <button v-if="writing" type="button" class="nk-send stop" aria-label="Stop" title="Stop" @click="stop">
          <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-square"/></svg></button>
        <button v-else type="submit" class="nk-send" aria-label="Send" title="Send" :disabled="!text.trim() || sending">
          <svg class="nk-i nk-i-20" aria-hidden="true"><use href="#nk-arrow-up"/></svg></button>
      </div>
    </form>`,
  props: { placeholder: String, writing: Boolean, draft: String /* names the chat whose draft this is */ },
  emits: ["send", "stop"],
  data() {
    return { text: "", problem: "", sending: false };
  },
  computed: {
    isLong() {
      return this.text.length > LONG;
    },
    key() {
      return `inglenook.draft.${this.draft}`;
    },
  },
  mounted() {
    this.text = sessionStorage.getItem(this.key) ?? "";
    this.$nextTick(() => {
      this.grow();
      this.focus();
    });
  },
  unmounted() {
    clearTimeout(this.keeping);
    if (this.sending) sessionStorage.removeItem(this.key); // taken, and the page went on to the new chat
    else this.keep();
  },
  methods: {
    focus() {
      if (HAS_KEYBOARD.matches) this.$refs.box.focus();
    },
    typed() {
      this.problem = "";
      this.grow();
      clearTimeout(this.keeping);
      if (this.isLong) this.keeping = setTimeout(this.keep, KEEP_LONG_MS);
      else this.keep();
    },
    keep() {
      try {
        sessionStorage.setItem(this.key, this.text);
      } catch (error) {
        if (error.name !== "QuotaExceededError") throw error; // too long to be kept over a reload; it stays in the field
      }
    },
    grow() {
      const box = this.$refs.box;
      if (!this.isLong) box.style.height = "auto";
      box.style.height = this.isLong ? "100vh" : `${box.scrollHeight}px`; // its style sheet says how high at most
    },
    enter(event) {
      if (event.shiftKey || event.isComposing || event.keyCode === 229) return;
      if (document.body.dataset.nkEnter === "newline" && !event.ctrlKey && !event.metaKey) return; // its writer's choice
      event.preventDefault();
      this.submit();
    },
    submit() {
      if (!this.text.trim() || this.sending || this.writing) return;
      if (JSON.stringify(JSON.stringify(this.text)).length > MAX_SENT) {
        this.problem = "That is too long to send at once. Take the part that matters.";
        return;
      }
      this.problem = "";
      this.sending = true;
      this.$emit("send", this.text);
      this.focus();
    },
    stop() {
      this.$emit("stop");
      this.focus(); // the button goes
    },
    fill(text) {
      this.text = text;
      this.$refs.box.focus();
      this.$nextTick(() => this.typed());
    },
    accept() {
      clearTimeout(this.keeping);
      this.text = "";
      this.sending = false;
      this.$nextTick(() => this.grow());
      sessionStorage.removeItem(this.key);
    },
    refuse(problem) {
      this.sending = false;
      this.problem = problem;
    },
  },
};
