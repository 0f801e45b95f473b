import { useState } from "preact/hooks";
import type { ChatConfig, DemoUser } from "./config";
import { replaceAddress } from "./route";
import { Workspace } from "./workspace";

const KEY = "equerry.user";

/** The page, for whoever is asking. */
export function App({ config }: { config: ChatConfig }) {
  const [user, setUser] = useState(() => rememberedUser(config.users));
  const onSwitch = (chosen: DemoUser): void => {
    // This tab's choice stays its own; a new tab begins with the last one made.
    sessionStorage.setItem(KEY, chosen.userId);
    localStorage.setItem(KEY, chosen.userId);
    replaceAddress(null);
    setUser(chosen);
  };
  return <Workspace key={user?.userId ?? ""} config={config} user={user} onSwitch={onSwitch} />;
}

function rememberedUser(users: readonly DemoUser[]): DemoUser | null {
  const remembered = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
  return users.find(({ userId }) => userId === remembered) ?? users[0] ?? null;
}
