// A file by choice or by drop, sent as the body of one request: the browser reads it from the disk as it goes. Where
// several may come (`many`), they go one after the other; a server that lacks more of them answers 202 and names them.
const t = (id, variables) => window.nkWords.t(id, variables);

export default {
  template: `
    <div class="nk-drop" :class="{ over }" @dragover.prevent="over = !busy && !sending" @dragleave="over = false" @drop.prevent="drop">
      <input ref="file" type="file" :accept="accept" :multiple="many" class="nk-sr" tabindex="-1" aria-hidden="true" @change="send($refs.file.files)">
      <template v-if="sending">
        <span class="nk-num" role="status">{{ t('file-sending', { percent }) }}</span>
        <button type="button" class="nk-btn nk-btn-quiet" @click="cancel">{{ t('cancel') }}</button>
      </template>
      <template v-else>
        <span v-if="!busy" class="nk-faint nk-not-sm">{{ t(over ? 'file-let-go' : 'file-drop-here') }}</span>
        <button type="button" class="nk-btn nk-btn-quiet" :disabled="busy" @click="$refs.file.click()">{{ t('file-choose') }}</button>
      </template>
      <p v-if="problem" class="nk-hint bad" role="alert">
        <svg class="nk-i nk-i-14" aria-hidden="true"><use href="#nk-circle-alert"/></svg>{{ problem }}</p>
      <p v-else-if="missing.length" class="nk-hint" role="status">{{ t('file-missing', { count: missing.length, files: missing.slice(0, 3).join(', ') }) }}</p>
    </div>`,
  emits: ["sent"],
  props: { url: String, maxBytes: Number, accept: String, busy: Boolean, takesPage: Boolean, many: Boolean },
  data() {
    return { over: false, sending: false, percent: 0, problem: "", missing: [] };
  },
  mounted() {
    if (!this.takesPage) return;
    // What is dropped beside the field would be opened by the browser in place of the page.
    this.onPage = { dragover: (event) => event.preventDefault(), drop: (event) => this.dropBeside(event) };
    for (const [name, listener] of Object.entries(this.onPage)) window.addEventListener(name, listener);
  },
  unmounted() {
    for (const [name, listener] of Object.entries(this.onPage ?? {})) window.removeEventListener(name, listener);
    this.request?.abort();
  },
  methods: {
    t,
    drop(event) {
      this.over = false;
      if (!this.busy && !this.sending) this.send(event.dataTransfer.files);
    },
    dropBeside(event) {
      if (event.defaultPrevented && this.$el.contains(event.target)) return; // the field has it
      event.preventDefault();
      this.drop(event);
    },
    send(chosen) {
      const files = [...chosen].slice(0, this.many ? undefined : 1);
      this.$refs.file.value = ""; // the same file may be chosen again
      if (!files.length) return;
      this.total = files.reduce((sum, file) => sum + file.size, 0);
      this.problem = this.total > this.maxBytes ? t("file-too-large") : "";
      this.missing = [];
      if (this.problem) return;
      this.percent = 0;
      this.sending = true;
      this.sendNext(files, 0);
    },
    sendNext([file, ...others], before) {
      const request = (this.request = new XMLHttpRequest());
      request.upload.onprogress = ({ loaded, total }) => (this.percent = Math.floor(((before + (loaded / total) * file.size) / this.total) * 100));
      request.onload = () => {
        if (request.status >= 300) this.finish((others.length || before ? `${file.name}: ` : "") + told(request));
        else if (others.length) this.sendNext(others, before + file.size);
        else this.finish("");
      };
      request.onerror = () => this.finish(t("file-not-sent"));
      request.onabort = () => this.finish("");
      request.open("POST", `${window.path_prefix || ""}${this.url}?name=${encodeURIComponent(file.name)}`);
      request.setRequestHeader("Inglenook-Language", window.nkWords.language); // of what goes wrong
      request.send(file);
    },
    cancel() {
      this.request.abort();
    },
    finish(problem) {
      this.sending = false;
      this.problem = problem;
      this.missing = this.request.status === 202 && !problem ? JSON.parse(this.request.responseText).missing : [];
      if (!problem && this.request.status && !this.missing.length) this.$emit("sent");
    },
  },
};

function told(request) {
  try {
    return JSON.parse(request.responseText).error.message;
  } catch {
    return t("file-refused", { status: request.status });
  }
}
