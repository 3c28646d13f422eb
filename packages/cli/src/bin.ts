#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { runOutbox } from './index.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

await runOutbox(process.argv.slice(2), version);
