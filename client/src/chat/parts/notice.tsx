import type { ComponentChildren } from "preact";
import { Icon } from "./icon";

/** Something went wrong: what, and what to do about it. */
export function Notice({
  children,
  action,
}: {
  children: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class="notice" role="alert" data-testid="error">
      <Icon name="alert" />
      <p>{children}</p>
      {action}
    </div>
  );
}
