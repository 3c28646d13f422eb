/**
 * Follows every link of the built site to its page and its heading. VitePress itself looks at pages only, and not at what
 * the navigation names.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const site = fileURLToPath(new URL('.vitepress/dist', import.meta.url));
const files = readdirSync(site, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(site, join(entry.parentPath, entry.name)));
const known = new Set(files);
const pages = new Map(
  files
    .filter((file) => file.endsWith('.html'))
    .map((file) => [file, readFileSync(join(site, file), 'utf8')]),
);

const dead = [...pages].flatMap(([page, html]) => linksOf(html).flatMap((link) => problemOf(page, link)));
process.stdout.write([...dead, `${pages.size} pages, ${dead.length} dead links\n`].join('\n'));
if (dead.length > 0) process.exit(1);

function linksOf(html) {
  return [...new Set([...html.matchAll(/<a\s[^>]*?href="([^"]+)"/g)].map(([, link]) => link))];
}

function problemOf(page, link) {
  if (/^(https?|mailto):/.test(link)) return [];
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : fileOf(page, decodeURI(path));
  if (!known.has(target)) return [`${page}: ${link} leads nowhere`];
  if (!anchor || hasHeading(target, decodeURIComponent(anchor))) return [];
  return [`${page}: ${link} names a heading that is not there`];
}

function fileOf(page, path) {
  const file = normalize(path.startsWith('/') ? path.slice(1) : join(dirname(page), path));
  return file === '.' || file.endsWith('/') ? join(file, 'index.html') : file;
}

function hasHeading(page, anchor) {
  return pages.get(page)?.includes(`id="${anchor}"`) ?? false;
}
