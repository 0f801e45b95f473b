/** Tells when the browser may have lost or regained the network. */

/** Calls back when it is time to look at the connection again; returns how to stop. */
export type WatchWaking = (wake: () => void) => () => void;

/** Coming online, going offline, and the page being looked at again (after a sleep, say). */
export const watchBrowserWaking: WatchWaking = (wake) => {
  const seen = (): void => {
    if (document.visibilityState === "visible") wake();
  };
  window.addEventListener("online", wake);
  window.addEventListener("offline", wake);
  document.addEventListener("visibilitychange", seen);
  return () => {
    window.removeEventListener("online", wake);
    window.removeEventListener("offline", wake);
    document.removeEventListener("visibilitychange", seen);
  };
};
