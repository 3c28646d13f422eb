import { writeFileSync } from 'node:fs';

/** Writes what became of each test to the file that INNER_RESULTS names, for `under-newer-node.test.ts`. */
// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export.
export default class ResultsReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const tests = modules.flatMap((module) => [...module.children.allTests()].map(resultOf));
    const outside = [...unhandledErrors, ...modules.flatMap((module) => module.errors())].map(textOf);
    writeFileSync(process.env.INNER_RESULTS, JSON.stringify({ tests, outside }));
  }
}

function resultOf(test) {
  const { state, errors = [], note } = test.result();
  return { name: test.fullName, state, note, errors: errors.map(textOf) };
}

function textOf({ message, diff, stack }) {
  return [message, diff, stack].filter(Boolean).join('\n');
}
