/** What the page is told about where it stands: `config.json` beside `index.html`. */

export interface DemoUser {
  userId: string;
  organisationId: string;
  name: string;
  role: string;
}

export interface ChatConfig {
  apiUrl: string;
  tokenUrl: string;
  /** The people of a demonstration, among whom the reader may switch; empty in a product. */
  users: DemoUser[];
  /** The assistant profile that new conversations use. */
  profile?: string;
}

/** Rejects with a sentence fit to be shown. */
export async function loadConfig(): Promise<ChatConfig> {
  const response = await fetch("config.json", { cache: "no-store" }).catch(() => null);
  if (response === null) throw new Error("The page could not reach its own server.");
  if (!response.ok) throw new Error(`config.json could not be read (${response.status}).`);
  const config = (await response.json().catch(() => null)) as Partial<ChatConfig> | null;
  if (typeof config?.apiUrl !== "string" || typeof config.tokenUrl !== "string") {
    throw new Error("config.json must name apiUrl and tokenUrl.");
  }
  const { apiUrl, tokenUrl, users = [], profile } = config;
  return { apiUrl, tokenUrl, users, ...(profile === undefined ? {} : { profile }) };
}
