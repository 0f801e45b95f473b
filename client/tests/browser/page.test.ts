import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { FakeService } from "../../dev/fake-service";
import { req } from "../req";
import { launch, picture, startService } from "./chromium";

let browser: Browser;
let service: FakeService;
let url: string;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
});

beforeEach(async () => {
  service = startService();
  url = await service.start();
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
  page = await context.newPage();
  complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // A policy violation is logged as an error; so is a failed request, which some tests want.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      complaints.push(message.text());
    }
  });
  await page.goto(url);
});

afterEach(async () => {
  expect(complaints.filter((text) => !text.includes("WebSocket connection"))).toEqual([]);
  await page.context().close();
  await service.stop();
});

const END = "In the last drill the whole of this took eleven minutes.";

async function ask(question: string): Promise<void> {
  await page.getByTestId("question").fill(question);
  await page.keyboard.press("Enter");
}

async function whole(): Promise<string> {
  await page.getByTestId("source").first().waitFor();
  return page.getByTestId("answer").last().locator(".prose").innerText();
}

/** Notes every text the answer shows, as it is drawn, but for the numbers of its citations. */
async function watchText(): Promise<void> {
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    new MutationObserver(() => {
      const prose = document.querySelector(".prose-live")?.cloneNode(true) as Element | undefined;
      for (const citation of prose?.querySelectorAll(".cite") ?? []) citation.remove();
      if (prose?.textContent) seen.push(prose.textContent.replace(/\s+/g, " ").trim());
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}

test("an answer streams, its claims open at their source, and all by keyboard", async () => {
  req("F-CITE-03");
  await ask("How do I rotate a key, slowly?");
  await page.getByTestId("status").filter({ hasText: "Searching the documents" }).waitFor();
  const pending = page.getByTestId("citation").first();
  await pending.waitFor();
  expect(await pending.getAttribute("aria-disabled")).toBe("true");
  expect(await whole()).toContain(END);
  // The marker that no passage bears out is gone.
  expect(await page.getByTestId("citation").allInnerTexts()).toEqual(["1", "1", "2", "3"]);

  const citation = page.getByTestId("citation").nth(2);
  await citation.focus();
  await page.keyboard.press("Enter");
  expect(await page.getByTestId("passage-quote").innerText()).toContain("must sign in again.");
  await picture(page, "passage");
  await page.keyboard.press("Escape");
  await page.getByTestId("passage").waitFor({ state: "detached" });
  expect(await citation.evaluate((element) => element === document.activeElement)).toBe(true);

  await page.getByTestId("source").nth(2).click();
  await page.getByText("no longer available to you").waitFor();
});

test.each(["shuffle", "lose some frames", "drop the socket", "shuffle, lose and drop"])(
  "frames that are wronged leave no trace in the text: %s",
  async (fault) => {
    req("F-CORE-02");
    await ask("Tell me");
    const expected = (await whole()).replace(/\s+/g, " ");
    await page.getByTestId("new-conversation").click();
    await watchText();
    await ask(fault);
    await page.getByTestId("asked").filter({ hasText: fault }).waitFor();
    expect((await whole()).replace(/\s+/g, " ")).toBe(expected);
    const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
    const shrunk = seen.filter((text, i) => i > 0 && !text.startsWith(seen[i - 1] ?? ""));
    expect(shrunk).toEqual([]);
  },
);

test("reloading in mid-answer rejoins it", async () => {
  await ask("How do I rotate a key?");
  await page.getByTestId("citation").first().waitFor();
  await page.reload();
  await page.getByTestId("asked").waitFor();
  expect(await whole()).toContain(END);
  expect(await page.getByTestId("answer").count()).toBe(1);
});

test("a second tab shows the same answer as it is written, and its Stop stops both", async () => {
  await ask("Answer slowly");
  await page.getByTestId("citation").first().waitFor();
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByTestId("citation").first().waitFor();
  await other.getByTestId("stop").click();
  await page.getByTestId("ending").waitFor();
  await other.getByTestId("ending").waitFor();
  expect(await page.getByTestId("ending").innerText()).toBe("Stopped.");
  await other.close();
});

test("after Stop a question can be sent at once", async () => {
  await ask("First");
  await page.getByTestId("citation").first().waitFor();
  await page.getByTestId("stop").click();
  await ask("Second");
  await page.getByTestId("ending").waitFor();
  expect(await whole()).toContain(END);
  expect(await page.getByTestId("asked").allInnerTexts()).toEqual(["First", "Second"]);
});

test("without WebSockets the answer still comes", async () => {
  service.channel.blocked = true;
  await page.reload();
  await ask("How do I rotate a key?");
  expect(await whole()).toContain(END);
});

test("a run whose done is lost still ends", async () => {
  req("A-EVT-14");
  await ask("endless");
  await page.getByTestId("source").first().waitFor({ timeout: 45_000 });
  expect(await page.getByTestId("stop").count()).toBe(0);
});

test("what was typed survives a refusal, and the page says what to do", async () => {
  service.outage = 503;
  await ask("A question I took time over");
  await page.getByTestId("error").filter({ hasText: "Try again in a moment" }).first().waitFor();
  expect(await page.getByTestId("question").inputValue()).toBe("A question I took time over");
  service.outage = 0;
  await page.getByTestId("send").click();
  expect(await whole()).toContain(END);
});

test("a failed run says so and can be asked again", async () => {
  await ask("fail");
  await page.getByTestId("error").filter({ hasText: "could not be reached" }).waitFor();
  await page.getByRole("button", { name: "Ask again" }).click();
  await expect.poll(() => page.getByTestId("asked").count()).toBe(2);
});

test("an expired token is renewed unseen", async () => {
  await page.getByText("handbook", { exact: true }).waitFor();
  service.tokensFrom = Date.now();
  await ask("How do I rotate a key?");
  expect(await whole()).toContain(END);
});

test("another account sees nothing of the first, not even by address", async () => {
  await ask("How do I rotate a key?");
  await whole();
  const address = page.url();
  await page.getByTestId("account").selectOption("mira");
  await page.getByText("equerry index PATH").waitFor();
  expect(await page.getByTestId("answer").count()).toBe(0);
  expect(await page.getByTestId("conversation-list").getByRole("link").count()).toBe(0);
  await page.goto(address);
  await page.reload();
  await page.getByText("not available to you").waitFor();
  expect(await page.getByText("rotate").count()).toBe(0);
});

test("an unknown event is reported and skipped; a newer contract asks for a reload", async () => {
  req("F-ENV-08");
  await ask("strange");
  expect(await whole()).toContain(END);
  expect(service.interactions).toContainEqual(
    expect.objectContaining({ kind: "unknown_envelope", data: { type: "hologram", seq: 7 } }),
  );
  await ask("newer");
  await page.getByTestId("outdated").waitFor();
});

test("Enter that chooses a word does not send, and Shift+Enter makes a line", async () => {
  const box = page.getByTestId("question");
  await box.fill("かな");
  await box.dispatchEvent("keydown", { key: "Enter", isComposing: true, bubbles: true });
  expect(await box.inputValue()).toBe("かな");
  await box.press("Shift+Enter");
  expect(await box.inputValue()).toBe("かな\n");
  expect(await page.getByTestId("asked").count()).toBe(0);
});

test("on a phone nothing runs over the edge and the list is a drawer", async () => {
  await page.setViewportSize({ width: 360, height: 720 });
  await ask("How do I rotate a key?");
  await whole();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBe(360);
  expect(await page.getByTestId("conversation-list").isVisible()).toBe(false);
  await page.getByRole("button", { name: "Open the list of conversations" }).click();
  await page.getByTestId("conversation-list").getByRole("link").waitFor();
  await picture(page, "phone-drawer");
  await page.keyboard.press("Escape");
  await expect.poll(() => page.getByTestId("conversation-list").isVisible()).toBe(false);
  const focused = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  expect(focused).toBe("Open the list of conversations");
});
