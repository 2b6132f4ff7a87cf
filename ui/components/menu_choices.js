// Many choices in a menu, of which one holds: models, presets. `finds`: a field on top of the menu (menu_filter.js) looks through
// them. Each is {id, name, about, isChosen}, and a model's also {dot: {kind, word}, isFar}.
export default {
  template: `
    <div class="nk-menu-long" role="group" :aria-label="label">
      <div v-if="heading" class="nk-group">{{ label }}</div>
      <button v-for="item in items" :key="item.id" class="nk-nav" :class="{ 'nk-model': item.dot }" type="button" role="menuitemradio" :aria-checked="String(item.isChosen)" :data-nk-filter="finds ? '' : null" @click="$emit('choose', item.id)">
        <span v-if="item.dot" class="nk-dot" :class="item.dot.kind" :title="item.dot.word" role="img" :aria-label="item.dot.word"></span>
        <span class="nk-grow nk-ell">
          <span>{{ item.name }}</span>
          <span v-if="item.isFar" class="nk-far" aria-hidden="true"><svg class="nk-i nk-i-14"><use href="#nk-globe"/></svg></span>
          <small v-if="item.about">{{ item.about }}</small>
        </span>
        <svg v-if="item.isChosen" class="nk-i nk-i-16" aria-hidden="true"><use href="#nk-check"/></svg>
      </button>
    </div>`,
  props: { label: String, heading: Boolean, finds: Boolean, items: Array },
  emits: ["choose"],
};
