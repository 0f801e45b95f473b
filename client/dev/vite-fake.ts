import type { Plugin } from "vite";
import { FakeService } from "./fake-service.ts";

const PORT = 47_001;

/** Runs the fake service beside `vite dev`, behind the same address. */
export function fakeService(): Plugin {
  return {
    name: "fake-service",
    apply: "serve",
    config: () => {
      // The service names its own address by the host that it was asked under.
      const proxied = { target: `http://127.0.0.1:${PORT}`, changeOrigin: false };
      const proxy = {
        "/api": proxied,
        "/token": proxied,
        "/config.json": proxied,
        "/live": { ...proxied, ws: true },
      };
      return { server: { proxy } };
    },
    async configureServer(server) {
      const service = new FakeService({ port: PORT, stepMs: 35 });
      await service.start();
      server.httpServer?.on("close", () => void service.stop());
    },
  };
}
