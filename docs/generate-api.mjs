/** Writes reference/api, one page for each package, from the comments of its source. */
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Application } from 'typedoc';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const out = here('reference/api');

const application = await Application.bootstrapWithPlugins({
  plugin: ['typedoc-plugin-markdown'],
  entryPoints: [here('../packages/*/src/index.ts')],
  tsconfig: here('tsconfig.api.json'),
  treatWarningsAsErrors: true,
  // Types are checked elsewhere, and better.
  skipErrorChecking: true,
  out,
  readme: 'none',
  disableSources: true,
  excludeExternals: true,
  excludePrivate: true,
  router: 'module',
  flattenOutputFiles: true,
  entryFileName: 'index',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  pageTitleTemplates: { index: 'API of every package', module: '@postcommit/{name}' },
  useCodeBlocks: true,
  useCustomAnchors: true,
  expandParameters: true,
  classPropertiesFormat: 'table',
  parametersFormat: 'table',
  propertyMembersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  indexFormat: 'list',
});
const project = await application.convert();
if (!project) throw new Error('the source of the packages could not be read');
for (const module of project.children ?? []) module.name = module.name.replace(/\/src$/, '');
await rm(out, { recursive: true, force: true });
await application.generateOutputs(project);
if (application.logger.hasErrors() || application.logger.hasWarnings()) process.exit(1);
