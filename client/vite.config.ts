import { defineConfig } from "vitest/config";
import { fakeService } from "./dev/vite-fake.ts";

export default defineConfig(({ mode }) => ({
  plugins: mode === "development" ? [fakeService()] : [],
  // Relative, so that the page can stand under any prefix.
  base: "./",
  build: { target: "es2022", modulePreload: { polyfill: false } },
  test: {
    projects: [
      { test: { name: "unit", include: ["tests/unit/**/*.test.ts?(x)"] } },
      {
        test: {
          name: "browser",
          include: ["tests/browser/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
}));
