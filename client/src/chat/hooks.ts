import { useEffect, useState } from "preact/hooks";
import type { ConversationStore, ConversationView } from "../core";

/** The store's view, drawn again at each change. */
export function useView(store: ConversationStore): ConversationView {
  const [view, setView] = useState(store.view);
  useEffect(() => {
    setView(store.view);
    return store.subscribe(setView);
  }, [store]);
  return view;
}

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = (): void => setMatches(media.matches);
    changed();
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [query]);
  return matches;
}
