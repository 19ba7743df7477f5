// Bundles the viewer with three.js, uPlot and, where it was built, the run time into one page: node build.mjs OUTPUT.html [LIVE.wasm]
import { build } from 'esbuild';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const here = new URL('./', import.meta.url).pathname;
const bundled = async (name, more) => (await build({
    entryPoints: [here + name], bundle: true, minify: true, write: false, format: 'iife', target: 'es2022', legalComments: 'inline', ...more,
})).outputFiles[0].text;
const threads = { SUPPLE_THREAD: 'thread_main.js', SUPPLE_COARSE: 'coarse_main.js' }, define = {};
for (const [name, file] of Object.entries(threads)) define[name] = JSON.stringify(await bundled(file));
const script = await bundled('viewer.js', { define });
const wasm = process.argv[3];
const parts = {
    STYLE: readFileSync(here + 'node_modules/uplot/dist/uPlot.min.css', 'utf8') + readFileSync(here + 'viewer.css', 'utf8'),
    SCRIPT: script,
    RUNTIME: wasm && existsSync(wasm) ? `<script type="text/plain" id="supple-wasm">${gzipSync(readFileSync(wasm), { level: 9 }).toString('base64')}</script>` : '',
};
const page = readFileSync(here + 'page.html', 'utf8').replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
writeFileSync(process.argv[2], page);
