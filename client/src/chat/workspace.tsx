import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  createClient,
  type Client,
  type ConversationStore,
  type ConversationView,
  type Ref,
} from "../core";
import type { ChatConfig, DemoUser } from "./config";
import { useConversations } from "./conversations";
import { useDrawer } from "./drawer";
import { useMedia, useView } from "./hooks";
import { Announcer } from "./parts/announcer";
import { OutdatedBanner } from "./parts/banner";
import { canSend, Composer } from "./parts/composer";
import { Empty } from "./parts/empty";
import { Header } from "./parts/header";
import { Notice } from "./parts/notice";
import { PassagePanel } from "./parts/passage-panel";
import { Scroller } from "./parts/scroller";
import { Sidebar } from "./parts/sidebar";
import { Transcript } from "./parts/transcript";
import { addressOf, conversationInAddress, replaceAddress } from "./route";
import { describeProblem } from "./sentences";
import { createTokenProvider } from "./session";

interface Props {
  config: ChatConfig;
  user: DemoUser | null;
  onSwitch: (user: DemoUser) => void;
}

/** Everything one person sees. Another person gets another workspace. */
export function Workspace({ config, user, onSwitch }: Props) {
  const [client, store] = useMemo(() => build(config, user), []);
  const view = useView(store);
  useAddress(store, view.conversationId);
  useEffect(() => () => store.close(), [store]);
  useEffect(() => {
    document.title = view.title === null ? "Equerry" : `${view.title} · Equerry`;
  }, [view.title]);

  const [draft, setDraft] = useState("");
  const [listOpen, showList, hideList] = useDrawer();
  const [cited, cite, closePassage] = useCited(view.conversationId);
  const list = useConversations(client.api, `${view.conversationId} ${view.liveRunId}`);
  const narrow = useMedia("(max-width: 799px)");

  const ask = async (text: string): Promise<void> => {
    if (await store.send(text)) return;
    // What was typed must not be lost, nor what was typed since.
    setDraft((since) => (since === "" ? text : `${text}\n${since}`));
  };
  const send = (): void => {
    const text = draft.trim();
    if (text === "" || !canSend(view)) return;
    setDraft("");
    void ask(text);
  };
  const startNew = (): void => {
    hideList();
    location.hash = addressOf(null);
  };
  return (
    <div class="workspace">
      <Sidebar
        list={list}
        currentId={view.conversationId}
        users={config.users}
        user={user}
        open={listOpen}
        onClose={hideList}
        onNew={startNew}
        onSwitch={onSwitch}
      />
      {listOpen && <div class="scrim" onClick={hideList} />}
      <main inert={narrow && listOpen}>
        <Header view={view} onMenu={showList} onNew={startNew} />
        {view.outdated && <OutdatedBanner />}
        <Scroller endKey={`${view.conversationId} ${countQuestions(view)}`}>
          <Content
            view={view}
            store={store}
            client={client}
            onCite={cite}
            onSuggest={setDraft}
            onAsk={ask}
          />
        </Scroller>
        <div class="dock">
          <SendProblem view={view} onDismiss={() => store.dismissProblem()} />
          {!isLost(view) && (
            <Composer
              view={view}
              draft={draft}
              onDraft={setDraft}
              onSend={send}
              onStop={() => void store.stop()}
            />
          )}
          <p class="disclosure">
            Answers are written by a machine and can be wrong. Open the sources to check.
          </p>
        </div>
        <Announcer view={view} />
      </main>
      {cited !== null && <PassagePanel api={client.api} cited={cited} onClose={closePassage} />}
    </div>
  );
}

function build(config: ChatConfig, user: DemoUser | null): [Client, ConversationStore] {
  const { apiUrl, tokenUrl, profile } = config;
  const client = createClient({ apiUrl, token: createTokenProvider(tokenUrl, user) });
  const options = { titleFor, ...(profile === undefined ? {} : { profile }) };
  return [client, client.conversation(options)];
}

const TITLE_LENGTH = 64;

function titleFor(question: string): string {
  const line = question.replace(/\s+/g, " ").trim();
  return line.length <= TITLE_LENGTH
    ? line
    : `${line.slice(0, TITLE_LENGTH).replace(/\s\S*$/, "")}…`;
}

/** Opens what the address names, and names in the address what has been begun. */
function useAddress(store: ConversationStore, conversationId: string | null): void {
  useEffect(() => {
    const follow = (): void => void store.open(conversationInAddress());
    follow();
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [store]);
  useEffect(() => {
    const begun = store.view.conversationId;
    if (begun !== null && begun !== conversationInAddress()) replaceAddress(begun);
  }, [store, conversationId]);
}

/** The citation whose passage is shown; focus goes back to where it was opened from. */
function useCited(conversationId: string | null): [Ref | null, (ref: Ref) => void, () => void] {
  const [cited, setCited] = useState<Ref | null>(null);
  const opener = useRef<Element | null>(null);
  useEffect(() => setCited(null), [conversationId]);
  // Beside the panel the answer is laid out anew, and what was clicked may have moved.
  useEffect(() => {
    if (cited !== null) opener.current?.scrollIntoView({ block: "nearest" });
  }, [cited]);
  const cite = useCallback((ref: Ref) => {
    opener.current = document.activeElement;
    setCited(ref);
  }, []);
  const close = useCallback(() => {
    setCited(null);
    // Once the panel has gone; while it is modal nothing else can be focused.
    setTimeout(() => opener.current instanceof HTMLElement && opener.current.focus());
  }, []);
  return [cited, cite, close];
}

function countQuestions({ messages }: ConversationView): number {
  return messages.filter((message) => message.role === "user").length;
}

interface ContentProps {
  view: ConversationView;
  store: ConversationStore;
  client: Client;
  onCite: (ref: Ref) => void;
  onSuggest: (text: string) => void;
  onAsk: (text: string) => Promise<void>;
}

function Content({ view, store, client, onCite, onSuggest, onAsk }: ContentProps) {
  if (view.messages.length > 0) {
    return (
      <Transcript
        view={view}
        onCite={onCite}
        onSuggest={onSuggest}
        onAsk={(text) => void onAsk(text)}
      />
    );
  }
  if (view.loading) return <p class="wait">Opening the conversation…</p>;
  if (!view.loadFailed || view.problem === null)
    return <Empty api={client.api} onSuggest={onSuggest} />;
  const action = isLost(view) ? (
    <a class="button" href={addressOf(null)}>
      New conversation
    </a>
  ) : (
    <button type="button" onClick={() => void store.reload()}>
      Try again
    </button>
  );
  return <Notice action={action}>{isLost(view) ? LOST : describeProblem(view.problem)}</Notice>;
}

const LOST =
  "This conversation is not available to you. Start a new one, or choose another from the list.";

/** The address names a conversation that is not this person's, or none at all. */
function isLost({ loadFailed, problem }: ConversationView): boolean {
  return loadFailed && (problem?.status === 404 || problem?.status === 400);
}

function SendProblem({ view, onDismiss }: { view: ConversationView; onDismiss: () => void }) {
  if (view.problem === null || (view.loadFailed && view.messages.length === 0)) return null;
  const dismiss = (
    <button type="button" class="quiet" onClick={onDismiss}>
      Dismiss
    </button>
  );
  return <Notice action={dismiss}>{describeProblem(view.problem)}</Notice>;
}
