import { writeFileSync } from 'node:fs';

/**
 * Writes `N passed, M failed, K skipped` to the file that CLOSING_LINE_FILE names, for `.ci/run` to print last, and
 * below it the name of every test that failed, with what it said, and of every test that was skipped.
 * What keeps tests from running at all (a file that does not load, an error outside any test) counts as failed.
 */
// biome-ignore lint/style/noDefaultExport: vitest loads a reporter by its default export.
export default class ClosingLineReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const names = unhandledErrors.map((error) => `failed: outside any test: ${error.message}`);
    for (const module of modules) {
      const failedBefore = counts.failed;
      // A test that is still pending was cut off by an interrupt.
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        const told = state === 'pending' ? 'failed' : state;
        counts[told] += 1;
        if (told === 'skipped') names.push(`skipped: ${test.fullName}`);
        if (told === 'failed') names.push(failedLine(module, test.fullName, errors));
      }
      if (!module.ok() && counts.failed === failedBefore) {
        counts.failed += 1;
        names.push(failedLine(module, 'outside its tests', module.errors()));
      }
    }
    const line = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
    writeFileSync(process.env.CLOSING_LINE_FILE, `${[line, ...names].join('\n')}\n`);
  }
}

function failedLine(module, name, errors) {
  const [message] = (errors?.[0]?.message ?? 'cut off').split('\n');
  return `failed: ${module.relativeModuleId}: ${name}: ${message}`;
}
