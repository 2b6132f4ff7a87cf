// The library as a file: written by the browser from what the server tells, and read here before it is sent.
const MAX_SENT = 990_000; // characters of the message to the server
const { t } = window.nkWords;

export default {
  template: `
    <div class="nk-row">
      <input ref="file" type="file" accept=".json,application/json" class="nk-sr" tabindex="-1" aria-hidden="true" @change="read($refs.file.files[0])">
      <button type="button" class="nk-btn nk-btn-quiet" @click="$refs.file.click()"><svg class="nk-i" aria-hidden="true"><use href="#nk-upload"/></svg>{{ t("library-import") }}</button>
      <button type="button" class="nk-btn nk-btn-quiet" @click="$emit('export')"><svg class="nk-i" aria-hidden="true"><use href="#nk-download"/></svg>{{ t("library-export") }}</button>
    </div>`,
  emits: ["read", "refused", "export"],
  created() {
    this.t = t;
  },
  methods: {
    async read(file) {
      this.$refs.file.value = ""; // the same file may be chosen again
      if (!file) return;
      const text = file.size < MAX_SENT ? await file.text() : null;
      if (text === null || JSON.stringify(JSON.stringify(text)).length > MAX_SENT) this.$emit("refused");
      else this.$emit("read", text);
    },
    save(name, text) {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      link.download = name;
      link.click();
      URL.revokeObjectURL(link.href);
    },
  },
};
