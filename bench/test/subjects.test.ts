import { expect, it } from 'vitest';
import { subjects } from '../src/subjects/all.js';
import { needsNode } from '../src/subjects/node-version.js';
import { loadSubject } from '../src/subjects/one.js';

it.each(subjects.map((subject) => [subject.id, subject] as const))(
  'a process started as %s runs that subject',
  async (id, subject) => {
    expect(await loadSubject(id)).toBe(subject);
  },
);

it('a process started as an unknown subject fails', async () => {
  await expect(loadSubject('store-pg-nothing')).rejects.toThrow('there is no subject');
});

it('no two subjects share an id or a name', () => {
  expect(new Set(subjects.map(({ id }) => id)).size).toBe(subjects.length);
  expect(new Set(subjects.map(({ name }) => name)).size).toBe(subjects.length);
});

it('a library that needs a newer Node is reported as absent', async () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  expect(await needsNode(major, minor)()).toBeUndefined();
  expect(await needsNode(major - 1, minor + 1)()).toBeUndefined();
  expect(await needsNode(major, minor + 1)()).toBe(`not run: needs Node ${major}.${minor + 1} or newer`);
  expect(await needsNode(major + 1, 0)()).toBe(`not run: needs Node ${major + 1}.0 or newer`);
});
