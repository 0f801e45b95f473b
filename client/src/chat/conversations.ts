import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiProblem, type AssistantApi, type ConversationSummary } from "../core";

/** The reader's conversations, read again whenever `key` changes; the last good list outlives a failure. */
export function useConversations(
  api: AssistantApi,
  key: string,
): readonly ConversationSummary[] | null {
  const [list, setList] = useState<readonly ConversationSummary[] | null>(null);
  const refresh = useCallback(async () => {
    const found = await api.listConversations().catch((problem: unknown) => problem);
    if (!(found instanceof ApiProblem)) setList(found as ConversationSummary[]);
  }, [api]);
  useEffect(() => void refresh(), [refresh, key]);
  return list;
}
