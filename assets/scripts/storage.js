// What this browser keeps for its pages. Where it may keep nothing (forbidden, a private window) or has no room left, the page
// itself remembers as long as it is open: localStorage and sessionStorage never throw, be it for our scripts or NiceGUI's.
// Stands before all other scripts, of the sign-in pages too. `nkForgets` tells what the next load will not know.
(() => {
  const tried = (act) => {
    try {
      return act();
    } catch {
      return undefined;
    }
  };

  function guarded(name) {
    const kept = tried(() => window[name]);
    const onlyHere = new Map(); // what could not be kept
    const keys = () => [...new Set([...(tried(() => Object.keys(kept)) ?? []), ...onlyHere.keys()])];
    const storage = {
      get length() {
        return keys().length;
      },
      key: (index) => keys()[index] ?? null,
      getItem: (key) => onlyHere.get(`${key}`) ?? tried(() => kept.getItem(key)) ?? null,
      setItem(key, value) {
        const isKept = tried(() => (kept.setItem(key, value), true));
        if (isKept) onlyHere.delete(`${key}`);
        else onlyHere.set(`${key}`, `${value}`);
      },
      removeItem(key) {
        onlyHere.delete(`${key}`);
        tried(() => kept.removeItem(key));
      },
      clear() {
        onlyHere.clear();
        tried(() => kept.clear());
      },
    };
    const valueOf = (key) => (typeof key === "string" ? (storage.getItem(key) ?? undefined) : undefined);
    const asObject = new Proxy({}, {
      get: (_, key) => (key in storage ? storage[key] : valueOf(key)),
      set: (_, key, value) => (storage.setItem(key, value), true),
      has: (_, key) => key in storage || valueOf(key) !== undefined,
      deleteProperty: (_, key) => (storage.removeItem(key), true),
      ownKeys: keys,
      getOwnPropertyDescriptor(_, key) {
        const value = valueOf(key);
        return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true };
      },
    });
    tried(() => Object.defineProperty(window, name, { value: asObject, configurable: true }));
    return (key) => onlyHere.has(key);
  }

  const forgets = { localStorage: guarded("localStorage"), sessionStorage: guarded("sessionStorage") };
  window.nkForgets = (name, key) => forgets[name](key);
})();
