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
    // Larger pieces compress better, 12 KB of 200. What the Overview and the map need stays apart from the other
    // pages, which are fetched once it is drawn.
    rolldownOptions: {
      output: {
        advancedChunks: {
          includeDependenciesRecursively: false,
          groups: [
            { name: "react", test: /node_modules\/(react|react-dom|scheduler)\// },
            { name: "charts", test: /node_modules\/uplot\/|\/src\/ui\/charts/ },
            { name: "shared", test: /\/src\/(core|ui|shell)\/|\/pages\/index\.ts$|vite\/preload-helper|\/pages\/(machines\/rows|needs\/(shapes|types)|decisions\/feed|scenario\/presence)\.tsx?$/ },
            { name: "pages", test: /\/src\/pages\/(clusters|costs|decisions|machines|needs|scenario\/(?!offer)|topology|whatif)/ },
          ],
        },
      },
    },
  },
  server: { proxy: { "/api": { target: backend, changeOrigin: true } } },
  test: { environment: "node", include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
});
