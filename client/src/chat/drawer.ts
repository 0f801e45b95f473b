import { useCallback, useEffect, useRef, useState } from "preact/hooks";

/** The list of conversations as a drawer: focus goes in with it and comes back, and Escape closes it. */
export function useDrawer(): [open: boolean, show: () => void, hide: () => void] {
  const [open, setOpen] = useState(false);
  const opener = useRef<Element | null>(null);
  const show = useCallback(() => {
    // Before what lies under the drawer is made inert and loses focus.
    opener.current = document.activeElement;
    setOpen(true);
  }, []);
  const hide = useCallback(() => setOpen(false), []);
  useEffect(() => {
    if (!open) return;
    document.querySelector<HTMLElement>("#sidebar button")?.focus();
    const closeOnEscape = (event: KeyboardEvent): void => {
      if (event.key === "Escape") hide();
    };
    document.addEventListener("keydown", closeOnEscape);
    return () => {
      document.removeEventListener("keydown", closeOnEscape);
      if (opener.current instanceof HTMLElement) opener.current.focus();
    };
  }, [open, hide]);
  return [open, show, hide];
}
