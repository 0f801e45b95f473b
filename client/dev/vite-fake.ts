import type { Plugin } from "vite";
import { FakeService } from "./fake-service.ts";

const PORT = 47_001;

/** Runs the fake service beside `vite dev`, behind the same address. */
export function fakeService(): Plugin {
  return {
    name: "fake-service",
    apply: "serve",
    config: () => {
      const target = `http://127.0.0.1:${PORT}`;
      return {
        server: {
          proxy: {
            "/api": target,
            "/token": target,
            "/config.json": target,
            "/live": { target, ws: true },
          },
        },
      };
    },
    async configureServer(server) {
      const service = new FakeService({ port: PORT, stepMs: 35 });
      await service.start();
      server.httpServer?.on("close", () => void service.stop());
    },
  };
}
