import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icon";

export function CopyButton({ text }: { text: () => string }) {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), 2_000);
    return () => clearTimeout(timer);
  }, [state]);

  const copy = (): void => {
    navigator.clipboard.writeText(text()).then(
      () => setState("copied"),
      () => setState("failed"),
    );
  };
  const label = { idle: "Copy", copied: "Copied", failed: "Could not copy" }[state];
  return (
    <button type="button" class="quiet" data-testid="copy" onClick={copy}>
      <Icon name={state === "copied" ? "check" : "copy"} />
      <span aria-live="polite">{label}</span>
    </button>
  );
}
