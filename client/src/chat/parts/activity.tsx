import type { Activity, AssistantMessage, ChannelState, ToolActivity } from "../../core";
import { Icon } from "./icon";

/** What is happening in a live answer, in one line. */
export function describeNow(answer: AssistantMessage | undefined, channel: ChannelState): string {
  if (channel === "offline") return "Connection lost. Reconnecting; the answer goes on meanwhile";
  const activity = answer?.activity ?? [];
  const running = activity.findLast((item) => item.kind === "tool" && item.state === "running");
  return (running ?? activity.findLast((item) => item.kind === "step"))?.label ?? "Starting";
}

export function StatusLine({ text }: { text: string }) {
  return (
    <p class="status" data-testid="status">
      <span class="status-dot" />
      <span>{text}…</span>
    </p>
  );
}

function isTool(item: Activity): item is ToolActivity {
  return item.kind === "tool";
}

/** The tools that were used, folded away once the answer is there. */
export function Trail({ activity, live }: { activity: readonly Activity[]; live: boolean }) {
  const tools = activity.filter(isTool).filter((tool) => !live || tool.state !== "running");
  if (tools.length === 0) return null;
  const items = tools.map((tool) => <TrailItem key={tool.toolCallId} tool={tool} />);
  if (live || tools.length === 1) return <ul class="trail">{items}</ul>;
  return (
    <details class="trail-fold">
      <summary>
        <Icon name="chevron" />
        {tools.length} steps taken
      </summary>
      <ul class="trail">{items}</ul>
    </details>
  );
}

function TrailItem({ tool }: { tool: ToolActivity }) {
  const failed = tool.state === "failed" || tool.state === "unreported";
  return (
    <li class={failed ? "failed" : ""}>
      <Icon name={failed ? "alert" : "check"} />
      <span>
        {tool.label}
        {tool.state === "failed" && tool.summary === null && " (did not finish)"}
        {tool.state === "unreported" && " (did not report that it finished)"}
      </span>
      {tool.summary !== null && <span class="trail-summary">{tool.summary}</span>}
    </li>
  );
}
