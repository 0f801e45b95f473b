import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiProblem, type AssistantApi, type ConversationSummary } from "../core";

export interface ConversationList {
  /** Null until they are known. */
  conversations: readonly ConversationSummary[] | null;
  hasMore: boolean;
  showMore: () => void;
  /** Puts one away for good; resolves to whether that was done. */
  archive: (conversationId: string) => Promise<boolean>;
}

interface Read {
  conversations: readonly ConversationSummary[];
  hasMore: boolean;
}

/** The reader's conversations, read again whenever `key` changes; the last good list outlives a failure. */
export function useConversations(api: AssistantApi, key: string): ConversationList {
  const [read, setRead] = useState<Read | null>(null);
  const [pages, setPages] = useState(1);
  const refresh = useCallback(async () => {
    const found = await readPages(api, pages).catch((problem: unknown) => problem);
    if (!(found instanceof ApiProblem)) setRead(found as Read);
  }, [api, pages]);
  useEffect(() => void refresh(), [refresh, key]);
  const archive = async (conversationId: string): Promise<boolean> => {
    const problem = await api.archiveConversation(conversationId).catch((why: unknown) => why);
    await refresh();
    return problem === undefined;
  };
  return {
    conversations: read?.conversations ?? null,
    hasMore: read?.hasMore ?? false,
    showMore: () => setPages((shown) => shown + 1),
    archive,
  };
}

/** From the front each time: what changed meanwhile is there, and is there once. */
async function readPages(api: AssistantApi, pages: number): Promise<Read> {
  const conversations: ConversationSummary[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < pages && (page === 0 || cursor !== null); page += 1) {
    const found = await api.pageConversations(cursor);
    conversations.push(...found.conversations);
    cursor = found.cursor;
  }
  return { conversations, hasMore: cursor !== null };
}
