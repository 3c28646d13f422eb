import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALERT_CASES, type AlertCase } from './alert-series.js';

const rulesFile = fileURLToPath(new URL('../../../docs/operations/alerts.yaml', import.meta.url));
const rules = rulesOf(readFileSync(rulesFile, 'utf8'));
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
/** Part of the name of every test that is skipped for this reason: `.ci/run` looks for it. */
const REASON = 'no promtool to test alerts with';

interface Rule {
  readonly alert: string;
  readonly severity: string;
  readonly expr: string;
  readonly text: string;
}

function rulesOf(yaml: string): Rule[] {
  const [, ...texts] = yaml.split(/^ {6}- alert: /m);
  return texts.map((text) => ({
    alert: firstOf(/^(\w+)/, text),
    severity: firstOf(/severity: (\w+)/, text),
    expr: firstOf(/expr: (.+)/, text),
    text,
  }));
}

function firstOf(pattern: RegExp, text: string): string {
  return pattern.exec(text)?.[1] ?? '';
}

describe('each alert', () => {
  const cases = (fires: boolean): Set<string> =>
    new Set(ALERT_CASES.filter((one) => one.fires === fires).map(({ alert }) => alert));

  test('has a series that fires it, and one that does not', () => {
    const names = new Set(rules.map(({ alert }) => alert));
    expect(cases(true)).toEqual(names);
    expect(cases(false)).toEqual(names);
  });

  test.each(rules.map((rule) => [rule.alert, rule] as const))(
    'has the labels that its text mentions: %s',
    (_, { expr, text }) => {
      const groups = [...expr.matchAll(/\bby \(([^)]*)\)/g)].map(([, labels]) => labels?.split(', '));
      const mentioned = [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
      for (const labels of groups) expect(labels).toEqual(expect.arrayContaining(mentioned));
    },
  );
});

const inPrometheus = hasPromtool
  ? 'in Prometheus'
  : `in Prometheus (${REASON}: install Debian's package prometheus)`;
const named = ALERT_CASES.map(
  (one) => [`${one.alert} ${one.fires ? 'fires' : 'does not fire'}: ${one.when}`, one] as const,
);

describe.skipIf(!hasPromtool)(inPrometheus, () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'postcommit-alerts-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(named)('%s', (_, one) => {
    const file = join(folder, 'test.json');
    writeFileSync(file, JSON.stringify(promtoolTest(one)));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
    expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
  });
});

/** Asks for the alert's own series, which exists while it fires. A rule file in YAML is also one in JSON. */
function promtoolTest({ alert, fires, series, atMinute, labels }: AlertCase): unknown {
  const severity = rules.find((rule) => rule.alert === alert)?.severity ?? '';
  const all = { alertname: alert, alertstate: 'firing', severity, ...labels };
  const samples = [{ labels: `ALERTS{${selectors(all)}}`, value: 1 }];
  return {
    rule_files: [rulesFile],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [
          {
            expr: `ALERTS{alertname="${alert}", alertstate="firing"}`,
            eval_time: `${atMinute}m`,
            exp_samples: fires ? samples : [],
          },
        ],
      },
    ],
  };
}

function selectors(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ');
}
