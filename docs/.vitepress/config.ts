import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { figures } from './figures.js';
import { home } from './home.js';
import { descriptionOf, linkOf, writeForPrograms } from './llms.js';
import { sidebar } from './sidebar.js';

/** Files that pages link to and readers download. */
const DOWNLOADS = ['operations/alerts.yaml', 'operations/grafana-dashboard.json'];

/** Who searches wants a page that explains before the list of every method. Runs in the browser, so it stands alone. */
function guidesFirst(documentId: string): number {
  return documentId.includes('/reference/api/') ? 0.2 : 1;
}

// biome-ignore lint/style/noDefaultExport: VitePress takes its configuration from the default export.
export default defineConfig({
  title: 'Postcommit',
  description: 'The transactional outbox for TypeScript',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/logo.svg' }]],
  // The comments of the usual dark theme are too faint to read.
  markdown: { theme: { light: 'github-light', dark: 'github-dark-default' } },
  // The page of the core's API is one large chunk; it is text.
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  rewrites: { 'decisions/README.md': 'decisions/index.md' },
  themeConfig: {
    logo: '/logo.svg',
    nav: [
      { text: 'Start', link: '/start/' },
      { text: 'Concepts', link: '/concepts/problem' },
      { text: 'Guides', link: '/guides/pg' },
      { text: 'Operations', link: '/operations/runbook' },
      { text: 'Reference', link: '/reference/options' },
    ],
    sidebar: sidebar(),
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument: guidesFirst } } } },
    outline: [2, 3],
  },
  transformPageData: ({ relativePath }) =>
    relativePath === 'index.md'
      ? { frontmatter: { ...home, figures: figures() } }
      : { description: descriptionOf(linkOf(relativePath)) },
  buildEnd: async ({ srcDir, outDir }) => {
    await writeForPrograms(outDir);
    for (const file of DOWNLOADS) await copyFile(join(srcDir, file), join(outDir, file));
  },
});
