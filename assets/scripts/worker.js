// The service worker: a calm page where the server cannot be reached, and files of a named version kept at hand.
// Nothing else is kept: no page, no chat, no answer of the API. ui/web_app.py puts three lines before this one:
// VERSION, of all that is below; FILES, what the calm page needs; AWAY, its address.
const CACHE = `inglenook-${VERSION}`;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => event.waitUntil(tidy()));

async function tidy() {
  const old = (await caches.keys()).filter((name) => name.startsWith("inglenook-") && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  await self.registration.navigationPreload?.enable(); // else each page would wait until this has woken up
  await self.clients.claim();
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode === "navigate") event.respondWith(page(event));
  else if (url.pathname.startsWith("/assets/") && url.searchParams.has("v")) event.respondWith(file(request));
  else if (FILES.includes(url.pathname)) event.respondWith(spare(request));
});

async function page(event) {
  try {
    return (await event.preloadResponse) ?? (await fetch(event.request));
  } catch (error) {
    const away = await caches.match(AWAY);
    if (!away) throw error;
    return away;
  }
}

// Its address changes whenever it does. Where it cannot be kept, for want of room, it comes from the server each time.
async function file(request) {
  const known = await caches.match(request).catch(() => null);
  if (known) return known;
  const response = await fetch(request);
  if (response.ok && response.type === "basic") {
    const copy = response.clone();
    await caches.open(CACHE).then((cache) => cache.put(request, copy)).catch(() => {});
  }
  return response;
}

// Fonts and pictures, whose addresses stay: the server's are as good while it is there.
async function spare(request) {
  return fetch(request).catch(async (error) => {
    const known = await caches.match(request);
    if (!known) throw error;
    return known;
  });
}
