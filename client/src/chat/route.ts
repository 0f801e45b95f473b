/** The conversation that is open is in the address, so that reloading and linking keep it. */

const PREFIX = "#/c/";

export function conversationInAddress(): string | null {
  const { hash } = location;
  if (!hash.startsWith(PREFIX)) return null;
  try {
    return decodeURIComponent(hash.slice(PREFIX.length)) || null;
  } catch {
    // A mangled escape: there is no such conversation.
    return null;
  }
}

export function addressOf(conversationId: string | null): string {
  return conversationId === null ? "#/" : PREFIX + encodeURIComponent(conversationId);
}

/** Name the conversation without adding to the history, as when it has just come to be. */
export function replaceAddress(conversationId: string | null): void {
  history.replaceState(null, "", addressOf(conversationId));
}
