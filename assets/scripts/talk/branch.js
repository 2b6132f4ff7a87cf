// ‹2/3›: the versions of a message, by buttons, and by the arrow keys while one of them has the focus.
const { t } = window.nkWords;

export const Branch = {
  template: `
    <span v-if="versions > 1" class="nk-branch" role="group" :aria-label="t('chat-versions')" @keydown.left.prevent="step(-forward())" @keydown.right.prevent="step(forward())">
      <button type="button" class="nk-ib" :aria-label="t('chat-version-previous')" :disabled="version === 1" @click="step(-1)">
        <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-chevron-left"/></svg></button>
      <span>{{ version }}/{{ versions }}</span>
      <button type="button" class="nk-ib" :aria-label="t('chat-version-next')" :disabled="version === versions" @click="step(1)">
        <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-chevron-right"/></svg></button>
    </span>`,
  props: { version: Number, versions: Number },
  emits: ["branch"],
  methods: {
    t,
    forward: () => (document.documentElement.dir === "rtl" ? -1 : 1), // of the arrow to the right
    step(by) {
      const wanted = this.version + by;
      if (wanted >= 1 && wanted <= this.versions) this.$emit("branch", by);
    },
  },
};
