// The last step of a build: what lies beside the bundle in the package's static folder.
// Compressed copies are made here, so that the server needs no compressor, and the digests
// of the sources, so that a Python test notices drift without Node.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { gzipAsync } from "@gfx/zopfli";
import type { Plugin } from "vite";

const SMALLEST_WORTH_COMPRESSING = 512;
const SKIPPED = new Set(["node_modules", "README.md"]);

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !SKIPPED.has(entry.name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    })
    .sort();
}

function digests(root: string): string {
  return filesBelow(root)
    .map((path) => ({ name: relative(root, path).split(sep).join("/"), path }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, path }) => {
      const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
      return `${digest}  ${name}\n`;
    })
    .join("");
}

/** Zopfli's gzip is 3 % smaller than zlib's best (ADR-0016), and the same bytes on every machine. */
async function compressed(content: Buffer): Promise<Uint8Array> {
  const bytes = await gzipAsync(content, { numiterations: 15 });
  bytes[9] = 255; // The system in the header: unknown.
  return bytes;
}

export function committedFiles(): Plugin {
  let root = "";
  let out = "";
  return {
    name: "bigfleet-committed-files",
    apply: "build",
    configResolved(config) {
      root = config.root;
      out = resolve(config.root, config.build.outDir);
    },
    transformIndexHtml: {
      order: "post",
      // Nothing is painted before the theme is known: no flash of the other one.
      handler: (html) => html.replace('<script type="module"', '<script type="module" blocking="render"'),
    },
    async closeBundle() {
      for (const path of filesBelow(out)) {
        const content = readFileSync(path);
        if (content.length >= SMALLEST_WORTH_COMPRESSING) writeFileSync(`${path}.gz`, await compressed(content));
      }
      writeFileSync(join(out, "sources.sha256"), digests(root));
    },
  };
}
