/**
 * Builds every notebook view: js/src/<view>/index.tsx becomes one minified ESM, <view>.js, and js/src/<view>/<view>.css
 * (with whatever it imports) becomes <view>.css, both in src/chongming_task/notebook/static/.
 *
 *   node js/build.mjs           writes them
 *   node js/build.mjs --check   builds into a temporary folder and fails when the committed files differ
 */
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const SOURCES = join(ROOT, "js", "src");
const STATIC = join(ROOT, "src", "chongming_task", "notebook", "static");

const exists = (path) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The entry points: one folder with an index.tsx is one view. */
async function entryPoints() {
  const points = {};
  for (const entry of await readdir(SOURCES, { withFileTypes: true })) {
    const folder = join(SOURCES, entry.name);
    if (!entry.isDirectory() || !(await exists(join(folder, "index.tsx")))) continue;
    points[`${entry.name}.js`] = join(folder, "index.tsx");
    const css = join(folder, `${entry.name}.css`);
    if (await exists(css)) points[`${entry.name}.css`] = css;
  }
  return Object.entries(points).sort(([a], [b]) => (a < b ? -1 : 1));
}

async function buildInto(folder) {
  await mkdir(folder, { recursive: true });
  const points = await entryPoints();
  for (const [name, source] of points) {
    await build({
      entryPoints: [source],
      outfile: join(folder, name),
      absWorkingDir: ROOT,
      bundle: true,
      format: "esm",
      target: "es2022",
      minify: true,
      charset: "utf8",
      legalComments: "none",
      jsx: "automatic",
      jsxImportSource: "preact",
      define: { "process.env.NODE_ENV": '"production"' },
      logLevel: "warning",
    });
  }
  return points.map(([name]) => name);
}

const builtFiles = async (folder) =>
  (await readdir(folder).catch(() => [])).filter((name) => /\.(js|css)$/.test(name)).sort();

/** The names of committed files which are missing, left over, or not what the sources give. */
async function differences(fresh) {
  const names = new Set([...(await builtFiles(fresh)), ...(await builtFiles(STATIC))]);
  const bytes = (path) => readFile(path).catch(() => null);
  const differing = [];
  for (const name of [...names].sort()) {
    const [built, committed] = await Promise.all([bytes(join(fresh, name)), bytes(join(STATIC, name))]);
    if (!built || !committed || !built.equals(committed)) differing.push(name);
  }
  return { names, differing };
}

async function check() {
  const fresh = await mkdtemp(join(tmpdir(), "front-"));
  try {
    await buildInto(fresh);
    const { names, differing } = await differences(fresh);
    if (differing.length > 0) {
      console.error(
        `Built files differ from their sources: ${differing.join(", ")}. Run "make front" and commit them.`,
      );
      process.exitCode = 1;
    } else {
      console.log(`${names.size} built files match their sources.`);
    }
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function write() {
  const written = await buildInto(STATIC);
  for (const name of await builtFiles(STATIC)) {
    if (!written.includes(name)) await rm(join(STATIC, name));
  }
  for (const name of written) {
    const bytes = await readFile(join(STATIC, name));
    console.log(
      `${basename(name).padEnd(20)} ${(bytes.length / 1000).toFixed(1)} kB, ${(gzipSync(bytes).length / 1000).toFixed(1)} kB gzipped`,
    );
  }
}

await (process.argv.includes("--check") ? check() : write());
