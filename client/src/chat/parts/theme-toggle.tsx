import { useEffect, useState } from "preact/hooks";
import { applyTheme, nextTheme, storedTheme } from "../theme";
import { Icon } from "./icon";

const NAMES = { system: "as the system", light: "light", dark: "dark" };

export function ThemeToggle() {
  const [theme, setTheme] = useState(storedTheme);
  useEffect(() => applyTheme(theme), [theme]);
  const label = `Colours: ${NAMES[theme]}. Change`;
  return (
    <button
      type="button"
      class="plain"
      data-testid="theme"
      aria-label={label}
      title={label}
      onClick={() => setTheme(nextTheme)}
    >
      <Icon name={theme} />
    </button>
  );
}
