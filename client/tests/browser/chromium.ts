/** The page in a real browser, over the fake service. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { FakeService } from "../../dev/fake-service";

const ROOT = join(import.meta.dirname, "../..");
const EXECUTABLE = process.env.EQUERRY_CHROMIUM ?? "/usr/bin/chromium";
const ARTEFACTS = process.env.EQUERRY_ARTEFACTS;

export async function launch(): Promise<Browser> {
  if (!existsSync(EXECUTABLE)) {
    throw new Error(`${EXECUTABLE} is missing: install Chromium or name it in EQUERRY_CHROMIUM`);
  }
  return chromium.launch({
    executablePath: EXECUTABLE,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export function startService(stepMs = 4): FakeService {
  return new FakeService({ port: 0, stepMs, page: join(ROOT, "dist") });
}

/** Keep a picture of the page, if EQUERRY_ARTEFACTS names a folder for them. */
export async function picture(page: Page, name: string): Promise<void> {
  if (ARTEFACTS === undefined) return;
  mkdirSync(ARTEFACTS, { recursive: true });
  await page.screenshot({ path: join(ARTEFACTS, `${name}.png`) });
}
