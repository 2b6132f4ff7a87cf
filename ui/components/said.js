// What a person said: the bubble, the field in which it is said otherwise, and what can be done with it.
import { copyText } from "inglenook-markdown";
import { Branch, editable, Editor, focusWhatTakesItsPlace, shortClusters } from "inglenook-talk";

const { t } = window.nkWords;
const COPIED_MS = 1600;

export default {
  template: `
    <div class="nk-said" :class="{ 'nk-limited': limit }" :data-message="messageId">
      <div v-if="limit" class="nk-limit" role="note">
        <p><span><svg class="nk-i nk-i-16" aria-hidden="true"><use :href="limit.summary ? '#nk-scroll-text' : '#nk-eye-off'"/></svg> {{ limit.text }}</span></p>
        <details v-if="limit.summary"><summary>{{ t("chat-limit-summary") }}</summary><p dir="auto">{{ limit.summary }}</p></details>
      </div>
      <div class="nk-turn-me">
        <editor v-if="editing" :message-id="messageId" :original="content" :label="t('chat-edit-mine')" :action="t('chat-edit-send')" :hint="t('chat-edit-mine-hint')"
          :refused="refused" @take="(...said) => $emit('edit', ...said)" @leave="stopEditing"></editor>
        <div v-else class="nk-bubble"><div dir="auto">{{ shown }}</div></div>
        <div v-if="!editing" class="nk-meta" :class="{ 'nk-in-use': open }">
          <button type="button" class="nk-ib" :aria-label="copied ? t('chat-copied') : t('chat-copy')" :title="copied ? t('chat-copied') : t('chat-copy')" @click="copy">
            <svg class="nk-i nk-i-16" aria-hidden="true"><use :href="copied ? '#nk-check' : '#nk-copy'"/></svg></button>
          <button type="button" class="nk-ib" ref="edit" data-nk-edit-mine :aria-label="t('chat-edit-mine')" :title="t('chat-edit-mine')" @click="editing = true">
            <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-pencil"/></svg></button>
          <button type="button" class="nk-ib" :aria-label="t('chat-more')" :title="t('chat-more')" aria-haspopup="menu" :aria-expanded="String(open)">
            <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-ellipsis"/></svg>
            <q-menu class="nk-menu" auto-close anchor="bottom right" self="top right" :offset="[0, 6]" @show="open = true" @before-hide="open = false"><div role="menu">
              <button type="button" role="menuitem" class="nk-nav" @click="copy"><svg class="nk-i" aria-hidden="true"><use href="#nk-copy"/></svg><span>{{ t("chat-copy") }}</span></button>
              <hr>
              <button type="button" role="menuitem" class="nk-nav danger" @click="$emit('remove')"><svg class="nk-i" aria-hidden="true"><use href="#nk-trash-2"/></svg><span>{{ t("chat-delete-from-here") }}</span></button>
            </div></q-menu></button>
          <branch :version="version" :versions="versions" @branch="(by) => $emit('branch', by)"></branch>
        </div>
      </div>
      <button v-if="unanswered" type="button" class="nk-btn nk-btn-quiet nk-btn-sm nk-answer-this" @click="$emit('answer')">
        <svg class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-reply"/></svg><span>{{ t("chat-answer-this") }}</span></button>
    </div>`,

  components: { Branch, Editor },
  mixins: [editable],
  props: {
    messageId: String,
    content: String,
    version: Number,
    versions: Number,
    unanswered: Boolean, // it is the last of its branch
    limit: Object, // where the model begins to see: {text, summary}, see ui/components/said.py
  },
  emits: ["answer", "branch", "edit", "remove"],

  data() {
    return { open: false, copied: false };
  },
  computed: {
    shown() {
      return shortClusters(this.content);
    },
  },
  beforeUnmount() {
    focusWhatTakesItsPlace(this.$el);
  },
  methods: {
    t,
    async copy() {
      this.copied = await copyText(this.content);
      setTimeout(() => (this.copied = false), COPIED_MS);
    },
  },
};
