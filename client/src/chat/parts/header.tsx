import type { ChannelState, ConversationView } from "../../core";
import { Icon } from "./icon";

interface Props {
  view: ConversationView;
  onMenu: () => void;
  onNew: () => void;
}

const CHANNEL_NOTES: Partial<Record<ChannelState, string>> = {
  offline: "Reconnecting",
  polling: "Slow connection",
};

export function Header({ view, onMenu, onNew }: Props) {
  const note = CHANNEL_NOTES[view.channel];
  return (
    <header class="topbar">
      <button
        type="button"
        class="plain drawer-only"
        aria-label="Open the list of conversations"
        aria-controls="sidebar"
        onClick={onMenu}
      >
        <Icon name="menu" />
      </button>
      <span class="topbar-title">{view.title}</span>
      {note !== undefined && (
        <span class="channel" data-testid="channel">
          {note}
        </span>
      )}
      <button type="button" class="plain drawer-only" aria-label="New conversation" onClick={onNew}>
        <Icon name="plus" />
      </button>
    </header>
  );
}
