// Bundles the viewer with three.js and uPlot into one page: node build.mjs OUTPUT.html
import { build } from 'esbuild';
import { readFileSync, writeFileSync } from 'node:fs';

const here = new URL('./', import.meta.url).pathname;
const bundle = await build({
    entryPoints: [here + 'viewer.js'], bundle: true, minify: true, write: false, format: 'iife', target: 'es2022', legalComments: 'inline',
});
const parts = {
    STYLE: readFileSync(here + 'node_modules/uplot/dist/uPlot.min.css', 'utf8') + readFileSync(here + 'viewer.css', 'utf8'),
    SCRIPT: bundle.outputFiles[0].text,
};
const page = readFileSync(here + 'page.html', 'utf8').replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
writeFileSync(process.argv[2], page);
