// A message's text in a field in its place. Esc leaves it as it was; Ctrl or Cmd with Enter, or the button, takes it.
// What is half written is kept in this tab: over a reload, and where another device deletes the message or turns to another
// branch meanwhile. Of a temporary chat nothing is.
const { t } = window.nkWords;
const MAX_SENT = 990_000; // characters of the message to the server, in which some are written with two, three or seven
const KEEP_LONG_MS = 500;
const { LONG, fit, short, whole } = window.nkFields;
let lastId = 0;

const keyOf = (messageId) => `inglenook.edit.${messageId}`;

/** Whether this message was being edited when it was last on the page. */
export const isHalfEdited = (messageId) => sessionStorage.getItem(keyOf(messageId)) !== null;

export const Editor = {
  template: `
    <form class="nk-edit" v-escape="leave" @submit.prevent="take" @keydown.enter="press">
      <textarea ref="field" v-model="text" rows="1" :dir="isLong ? null : 'auto'" :aria-label="label" :aria-describedby="reason ? id : null" :aria-invalid="reason ? 'true' : null" @input="change"></textarea>
      <p v-if="reason" class="nk-hint bad" role="alert" :id="id"><svg class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-circle-alert"/></svg><span>{{ reason }}</span></p>
      <div class="nk-edit-acts">
        <span class="nk-hint nk-grow">{{ hint }}</span>
        <button type="button" class="nk-btn nk-btn-ghost nk-btn-sm" @click="leave">{{ t("chat-edit-cancel") }}</button>
        <button type="submit" class="nk-btn nk-btn-primary nk-btn-sm" :disabled="!text.trim() || sending" :title="keys">{{ action }}</button>
      </div>
    </form>`,
  directives: { escape: window.nkEscape.directive },
  inject: { keepsDrafts: { from: "nkKeepsDrafts", default: () => () => false } },
  props: { messageId: String, original: String, label: String, action: String, hint: String, refused: String },
  emits: ["take", "leave"],
  data() {
    return { text: sessionStorage.getItem(keyOf(this.messageId)) ?? short(this.original), sending: false, reason: "", id: `nk-edit-${(lastId += 1)}` };
  },
  computed: {
    isLong() {
      return this.text.length > LONG;
    },
    keys() {
      return /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘ ⏎" : "Ctrl ⏎";
    },
  },
  watch: {
    refused(reason) {
      this.reason = reason;
      this.sending = false;
    },
  },
  mounted() {
    this.grow();
    this.$refs.field.focus({ preventScroll: true });
    this.$refs.field.setSelectionRange(this.text.length, this.text.length);
    this.$el.scrollIntoView({ block: "nearest" });
  },
  unmounted() {
    clearTimeout(this.keeping);
    if (this.sending) this.forget(); // taken: another message stands in its place
    else if (this.isKept) this.keep();
  },
  methods: {
    t,
    keep() {
      if (this.keepsDrafts()) sessionStorage.setItem(keyOf(this.messageId), this.text);
    },
    forget() {
      this.isKept = false;
      sessionStorage.removeItem(keyOf(this.messageId));
    },
    press(event) {
      if (event.isComposing || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.take();
    },
    take() {
      if (!this.text.trim() || this.sending) return;
      const text = whole(this.text);
      if (text === this.original) return this.leave();
      if (JSON.stringify(JSON.stringify(text)).length > MAX_SENT) return (this.reason = t("chat-edit-too-long"));
      this.sending = true;
      this.$emit("take", text);
    },
    leave() {
      this.forget();
      this.$emit("leave");
    },
    change() {
      this.reason = "";
      this.sending = false;
      this.grow();
      this.isKept = true;
      clearTimeout(this.keeping);
      if (this.isLong) this.keeping = setTimeout(this.keep, KEEP_LONG_MS);
      else this.keep();
    },
    grow() {
      fit(this.$refs.field);
    },
  },
};
