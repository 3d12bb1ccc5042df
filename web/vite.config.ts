import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { committedFiles } from "./plugins/committed-files.ts";

// BIGFLEET is where `npm run dev` finds a running `bigfleet up`.
const backend = process.env.BIGFLEET ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react(), committedFiles()],
  build: {
    outDir: "../src/bigfleet/web/static",
    emptyOutDir: true,
    target: "es2022",
    // data: addresses are refused by the page's Content-Security-Policy.
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": { target: backend, changeOrigin: true } } },
  test: { environment: "node", include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
});
