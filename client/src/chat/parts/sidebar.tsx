import type { ConversationSummary } from "../../core";
import type { DemoUser } from "../config";
import type { ConversationList } from "../conversations";
import { AccountSwitcher } from "./account";
import { ConversationEntry } from "./conversation-entry";
import { Icon, Mark } from "./icon";
import { ThemeToggle } from "./theme-toggle";

interface Props {
  list: ConversationList;
  currentId: string | null;
  users: readonly DemoUser[];
  user: DemoUser | null;
  open: boolean;
  onClose: () => void;
  onNew: () => void;
  onSwitch: (user: DemoUser) => void;
}

export function Sidebar(props: Props) {
  const { list, currentId, users, user, open, onClose, onNew, onSwitch } = props;
  const { conversations, hasMore, showMore, archive } = list;
  const putAway = async (conversationId: string): Promise<void> => {
    if ((await archive(conversationId)) && conversationId === currentId) onNew();
  };
  return (
    <div class={open ? "sidebar open" : "sidebar"} id="sidebar">
      <div class="sidebar-head">
        <Mark />
        <span class="wordmark">Equerry</span>
        <button
          type="button"
          class="plain drawer-only"
          aria-label="Close the list"
          onClick={onClose}
        >
          <Icon name="close" />
        </button>
      </div>
      <button type="button" class="new" data-testid="new-conversation" onClick={onNew}>
        <Icon name="plus" />
        New conversation
      </button>
      <nav aria-label="Conversations" data-testid="conversation-list">
        {groupByAge(conversations ?? [], new Date()).map(([age, group]) => (
          <section key={age}>
            <h2>{age}</h2>
            <ul>
              {group.map((conversation) => (
                <ConversationEntry
                  key={conversation.conversationId}
                  conversation={conversation}
                  current={conversation.conversationId === currentId}
                  onOpen={onClose}
                  onArchive={() => void putAway(conversation.conversationId)}
                />
              ))}
            </ul>
          </section>
        ))}
        {hasMore && (
          <button type="button" class="plain more" data-testid="show-more" onClick={showMore}>
            Show older
          </button>
        )}
        {conversations?.length === 0 && <p class="nothing">What you ask will be kept here.</p>}
      </nav>
      <div class="sidebar-foot">
        {user !== null && <AccountSwitcher users={users} user={user} onSwitch={onSwitch} />}
        <ThemeToggle />
      </div>
    </div>
  );
}

/** Newest first, as they came, under the day they were last touched. */
function groupByAge(
  conversations: readonly ConversationSummary[],
  now: Date,
): [string, ConversationSummary[]][] {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const groups = new Map<string, ConversationSummary[]>();
  for (const conversation of conversations) {
    const at = Date.parse(conversation.updatedAt ?? conversation.createdAt);
    const age = at >= today ? "Today" : at >= today - 6 * 86_400_000 ? "This week" : "Earlier";
    groups.set(age, [...(groups.get(age) ?? []), conversation]);
  }
  return [...groups];
}
