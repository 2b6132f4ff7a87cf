// The worker that all tabs of a browser share: it holds the one line for the answers that any of them follows. See follow.js.
import { Hub } from "./hub.js";

const hub = new Hub(new URL(self.location).searchParams.get("prefix") ?? "");

self.onconnect = ({ ports: [port] }) => {
  const reader = (event) => port.postMessage(event);
  port.onmessage = ({ data: { follow, leave, wake, offset, thought } }) => {
    if (wake) hub.wake();
    else if (follow) hub.join(reader, follow, offset, thought);
    else hub.leave(reader, leave);
  };
  port.postMessage({ name: "ready" });
};
