import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const folder = new URL('../../.github/workflows/', import.meta.url);
const workflows = readdirSync(folder).map((name) => ({
  name,
  text: readFileSync(new URL(name, folder), 'utf8'),
}));

describe.each(workflows)('the workflow $name', ({ text }) => {
  it('pins every action by its commit, and says which version that is', () => {
    const actions = text.match(/uses: .*/g) ?? [];
    expect(actions).not.toEqual([]);
    expect(actions.filter((action) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v[\d.]+$/.test(action))).toEqual(
      [],
    );
  });

  it('has no permission but those of its jobs, each of which says what it needs', () => {
    expect(text).toMatch(/^permissions: \{\}$/m);
    for (const job of jobsOf(text)) expect(job).toMatch(/^ {4}permissions:\n {6}\S/m);
  });

  it('uses no secret but the token of the run', () => {
    const secrets = [...text.matchAll(/secrets\.(\w+)/g)].map(([, secret]) => secret);
    expect(secrets.filter((secret) => secret !== 'GITHUB_TOKEN')).toEqual([]);
  });
});

it('only the job that publishes may sign for npm, and it runs nothing of ours or of others', () => {
  const release = workflows.find(({ name }) => name === 'release.yml')?.text ?? '';
  const [publish = '', ...others] = jobsOf(release).filter((job) => job.includes('id-token: write'));
  expect(others).toEqual([]);
  expect(publish).toMatch(/^ {2}publish:/);
  expect(publish).toMatch(/^ {4}permissions:\n {6}id-token: write\n {4}\S/m);
  expect(publish).toContain('--provenance');
  expect(publish).not.toMatch(/actions\/checkout|pnpm|npm (ci|install)|npx/);
});

/** Each job as it is written, with its name. */
function jobsOf(workflow: string): string[] {
  const [, jobs = ''] = workflow.split(/^jobs:\n/m);
  return jobs.split(/^(?= {2}[\w-]+:$)/m).filter((job) => /^ {2}[\w-]+:$/m.test(job));
}
