import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
};

/** Serve the built page from a folder; 404 for anything else. */
export async function servePage(
  folder: string | undefined,
  path: string,
  response: ServerResponse,
): Promise<void> {
  const name = normalize(path === "/" ? "/index.html" : path);
  const body = folder === undefined ? null : await readFile(join(folder, name)).catch(() => null);
  response.writeHead(body === null ? 404 : 200, {
    "content-type": TYPES[extname(name)] ?? "text/plain",
  });
  response.end(body ?? "Not found");
}
