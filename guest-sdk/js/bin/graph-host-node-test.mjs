#!/usr/bin/env node
// Runs the unit tests of a node in Node.js: the files below `tests`, each made one module by esbuild, with doubles for what a host offers.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const doubles = fileURLToPath(new URL('../testing/', import.meta.url));
const folder = resolve(process.argv[2] ?? 'tests');
let esbuild;
try {
  esbuild = createRequire(resolve('package.json'))('esbuild');
} catch {
  refuse(`esbuild is not installed for ${resolve('.')}: type \`npm install\` there`);
}
const found = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
const tests = found.filter(file => /\.test\.(js|mjs|ts)$/.test(file)).map(file => join(folder, file));
if (tests.length === 0) {
  refuse(`there is no test in ${folder}: write NAME.test.js, .mjs or .ts there, or name another folder`);
}

function refuse(message) {
  console.error(message);
  process.exit(2);
}

const out = mkdtempSync(join(tmpdir(), 'graph-host-node-test-'));
let status = 1;
try {
  await esbuild.build({
    entryPoints: tests,
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'inline',
    logLevel: 'warning',
    plugins: [
      {
        name: 'doubles of the host',
        setup(build) {
          build.onResolve({ filter: /^(wasi|graph-host):/ }, ({ path }) => {
            const [, namespace, from, name] = /^([a-z-]+):([a-z-]+)\/([a-z-]+)/.exec(path) ?? [];
            return { path: join(doubles, `${namespace}-${from === 'http' ? from : name}.mjs`) };
          });
        },
      },
    ],
  });
  const files = readdirSync(out, { recursive: true }).filter(file => file.endsWith('.mjs')).map(file => join(out, file));
  const ran = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...files], { stdio: 'inherit' });
  status = ran.status ?? 1;
} catch (error) {
  // esbuild has printed what it refuses.
  if (!Array.isArray(error.errors)) {
    console.error(error.message);
  }
} finally {
  rmSync(out, { recursive: true, force: true });
}
process.exit(status);
