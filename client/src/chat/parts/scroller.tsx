import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icon";

interface Props {
  children: ComponentChildren;
  /** Scrolls to the end whenever it changes, as when a question was asked. */
  endKey: string;
}

const NEAR_END_PX = 64;

/** Keeps the end in sight while it grows, unless the reader has scrolled away from it. */
export function Scroller({ children, endKey }: Props) {
  const outer = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);
  const [away, setAway] = useState(false);

  const toEnd = (): void => {
    pinned.current = true;
    outer.current?.scrollTo({ top: outer.current.scrollHeight });
  };
  useEffect(toEnd, [endKey]);
  useEffect(() => {
    if (inner.current === null) return;
    const observer = new ResizeObserver(() => pinned.current && toEnd());
    observer.observe(inner.current);
    return () => observer.disconnect();
  }, []);

  const onScroll = (): void => {
    if (outer.current === null) return;
    const { scrollHeight, scrollTop, clientHeight } = outer.current;
    pinned.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    setAway(!pinned.current);
  };
  return (
    <div class="scroll-frame">
      <div class="scroller" ref={outer} onScroll={onScroll}>
        <div class="column" ref={inner}>
          {children}
        </div>
      </div>
      {away && (
        <button
          type="button"
          class="to-end"
          aria-label="Go to the end"
          title="Go to the end"
          onClick={toEnd}
        >
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}
