import { afterAll, expect, test } from 'vitest';
import { rowIdOf } from '../src/index.js';
import { jobIdOf } from '../src/job-id.js';
import { closeRedisServers } from './bullmq-harness.js';
import { describeOnRedis, failureOf, openBullmqScene, rowOf } from './scene.js';

afterAll(closeRedisServers);

const IDS = ['0', '7', '-7', '12345678901234567890', 'a:b', '0:7', 'x:y:z', '%', '%37', '%3A', 'a%b'];
const TAKEN = ['wait', 'meta', 'id', 'events', 'stalled-check', 'marker', 'limiter'];

test('a UUID stays as it is', () => {
  const id = '01a1f638-f879-7220-8ffd-5802daa991df';
  expect(jobIdOf(id)).toBe(id);
});

test('other ids are escaped, each in its own way, and come back', () => {
  const all = [...IDS, ...TAKEN];
  const escaped = all.map(jobIdOf);
  expect(new Set(escaped).size).toBe(all.length);
  expect(escaped.map(rowIdOf)).toEqual(all);
  for (const id of escaped) expect(id).not.toMatch(/:|^-?\d+$|^[a-z-]+$/i);
});

test('the printable characters of an id come back', () => {
  const id = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).join('');
  expect(rowIdOf(jobIdOf(id))).toBe(id);
});

describeOnRedis('BullMQ', () => {
  test('takes them all, and none is one of its own keys', async () => {
    const scene = await openBullmqScene();
    const publisher = scene.publisher();
    for (const id of [...IDS, ...TAKEN])
      expect(await failureOf(publisher, rowOf({ id })), id).toBeUndefined();
    expect((await scene.jobs()).map(({ id }) => rowIdOf(id))).toEqual([...IDS, ...TAKEN]);
  });
});
