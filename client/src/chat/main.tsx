import { render } from "preact";
import { App } from "./app";
import { loadConfig } from "./config";
import { Notice } from "./parts/notice";
import { applyTheme, storedTheme } from "./theme";

const root = document.getElementById("app");
if (root === null) throw new Error("index.html has no #app");
applyTheme(storedTheme());
try {
  render(<App config={await loadConfig()} />, root);
} catch (error) {
  const reason = error instanceof Error ? error.message : "";
  render(
    <div class="startup">
      <Notice>The assistant could not be started. {reason} Reload the page in a moment.</Notice>
    </div>,
    root,
  );
}
