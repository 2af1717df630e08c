// SPDX-License-Identifier: Apache-2.0
// Builds the dashboard: `node build.mjs FOLDER` writes index.html, app-HASH.js and app-HASH.css there,
// which is all that a browser loads.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/** What the pages may weigh, compressed, before the build refuses. */
const LIMIT_GZIP_BYTES = 100 * 1024;

const root = dirname(fileURLToPath(import.meta.url));

/** Loaded late, so that a wrong use is told first. */
async function loadBundler() {
  const { default: esbuild } = await import("esbuild");
  return esbuild;
}

async function bundle() {
  const esbuild = await loadBundler();
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { app: "src/main.jsx" },
    bundle: true,
    minify: true,
    write: false,
    outdir: "out",
    format: "esm",
    target: ["chrome109", "firefox115", "safari16.4"],
    // Calls of h() are shorter than those of the automatic form: 1 KiB less, compressed.
    jsx: "transform",
    jsxFactory: "h",
    jsxFragment: "Fragment",
    inject: ["src/lib/jsx.js"],
    legalComments: "none",
    logLevel: "warning",
  });
  return result.outputFiles.map((file) => ({
    extension: file.path.endsWith(".css") ? "css" : "js",
    bytes: Buffer.from(file.contents),
  }));
}

function hashed({ extension, bytes }) {
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  return { name: `app-${digest}.${extension}`, extension, bytes };
}

function page(files) {
  const template = readFileSync(join(root, "src/index.html"), "utf8");
  const name = (extension) => files.find((file) => file.extension === extension).name;
  return template.replace("app.js", name("js")).replace("app.css", name("css"));
}

function write(folder, files) {
  mkdirSync(folder, { recursive: true });
  for (const old of readdirSync(folder)) {
    if (/^app-[0-9a-f]+\.(js|css)$/.test(old)) rmSync(join(folder, old));
  }
  for (const { name, bytes } of files) writeFileSync(join(folder, name), bytes);
}

const folder = process.argv[2];
if (!folder || !existsSync(join(root, "src/main.jsx"))) {
  console.error("usage: node build.mjs FOLDER");
  process.exit(2);
}
const files = (await bundle()).map(hashed);
files.push({ name: "index.html", extension: "html", bytes: Buffer.from(page(files)) });
const weight = files.reduce((sum, file) => sum + gzipSync(file.bytes, { level: 9 }).length, 0);
if (weight > LIMIT_GZIP_BYTES) {
  console.error(`the dashboard weighs ${weight} bytes compressed; ${LIMIT_GZIP_BYTES} are allowed`);
  process.exit(1);
}
write(folder, files);
console.log(`dashboard: ${(weight / 1024).toFixed(1)} KiB compressed`);
