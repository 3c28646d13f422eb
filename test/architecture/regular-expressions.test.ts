import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { maskSecrets, topicMatcher } from '@postcommit/core/internal';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { oneLine } from '../../packages/cli/src/command-error.js';
import { printable } from '../../packages/cli/src/printable.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Linear time is a few milliseconds for this length, quadratic time is far beyond the limit. */
const LENGTH = 2 ** 18;
const LIMIT_MS = 5_000;

/**
 * Every expression that can look at a text without an end, and beginnings that make a bad one look at it again and
 * again. An expression that is missing here fails the first test below: add it, with the worst text you can think of.
 */
const hostile: Readonly<Record<string, readonly string[]>> = {
  '/^(\\d+(?:\\.\\d+)?)(ms|[smhdw])$/': ['1', '1.1', '.1'],
  '/^\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d(:\\d\\d(\\.\\d+)?)?(Z|[+-]\\d\\d:\\d\\d))?$/': [
    '2026-01-01T00:00:00.',
    '1',
  ],
  '/^outbox:(.+)$/': ['outbox:', '\n'],
  '/^[^\\s"\\\\]+$/': ['a', 'a '],
  '/\\S+/g': ['a', ' ', 'a '],
  '/^\\d+$/': ['1', '1a'],
  '/^[A-Z][a-z]+, /': ['Aa', 'a', 'Aa, '],
  '/^(int|bigint)\\(\\d+\\)/': ['int(', '1', 'int(1'],
  '/\\(\\d+\\)/': ['(', '(1', '1'],
  '/\\W+/': [' ', 'a', 'a '],
  '/^[A-Za-z_][A-Za-z0-9_]*$/': ['a', 'a '],
  '/^[\\x20-\\x7e]*$/': ['a', 'aä'],
  '/(authorization\\\\*["\']?[ \\t]*[:=][ \\t]*\\\\*["\']?(?:(?:basic|bearer|digest|negotiate|token|apikey)[ \\t]+)?)[^\\s"\'\\\\,;]+/gi':
    ['authorization', 'authorization:', 'authorization: ', ' ', '\\', 'authorization:basic '],
  '/\\b([Bb]earer|[Bb]asic|BEARER|BASIC)([ \\t]+)(?![A-Z]?[a-z]{1,15}(?![\\w.~+/-]))[\\w.~+/-]+=*/g': [
    ...['Bearer ', 'Bearer', 'Bearer -', 'Basic=', ' ', '='],
  ],
  '/(cookie:[ \\t]*)[^\\s"\'][^\\r\\n"\']*/gi': ['cookie:', 'cookie: ', ' '],
  '/(?<![\\w-])eyJ[\\w-]+\\.[\\w-]+\\.[\\w-]+/g': ['eyJ', 'eyJ.', 'eyJa.', '-eyJ', 'eyJa.b.', '.eyJ'],
  '/^(varchar\\(191\\)|\\w*text)$/': ['a', 'text', 'varchar(191)'],
  '/^int(\\(\\d+\\))?$/': ['int(', '1', 'int(1'],
  '/[ ,]+/': [' ', ',', ' a'],
  '/^(?:[\\x21-\\x7e](?:[\\x20-\\x7e\\t]*[\\x21-\\x7e])?)?$/': ['a', ' ', 'a ', '\t'],
  '/^(?:webhook-(?:id|timestamp|signature)|outbox-(?:id|topic|key|created-at)|ce-.*|content-type)$/i': [
    ...['ce-', 'webhook-id', 'outbox-key', '\n'],
  ],
  "/^[!#$%&'*+\\-.^_`|~0-9A-Za-z]+$/": ['a', 'a '],
  '/^[A-Za-z0-9+/]+={0,2}$/': ['a', '=', 'a='],
  '/^[^/?#@:\\\\]+$/': ['a', 'a/'],
};

interface Found {
  readonly literals: readonly string[];
  readonly constructed: readonly string[];
}

function sourcesIn(folder: string): string[] {
  return readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`);
}

function expressionsOf(path: string): Found {
  const literals: string[] = [];
  const constructed: string[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.RegularExpressionLiteral) literals.push(node.getText());
    const isCall = ts.isNewExpression(node) || ts.isCallExpression(node);
    if (isCall && node.expression.getText() === 'RegExp') constructed.push(path);
    node.forEachChild(visit);
  };
  visit(ts.createSourceFile(path, readFileSync(`${root}${path}`, 'utf8'), ts.ScriptTarget.Latest, true));
  return { literals, constructed };
}

const found = readdirSync(`${root}packages`)
  .filter((name) => !name.endsWith('-testkit'))
  .flatMap((name) => sourcesIn(`packages/${name}/src`))
  .map(expressionsOf);
const literals = [...new Set(found.flatMap((file) => file.literals))];
const isUnbounded = (literal: string): boolean =>
  /[*+]|\{\d+,\}/.test(literal.replaceAll(/\\.|\[(?:\\.|[^\]])*\]/g, 'x'));

/** Runs to its end or throws after the limit: a bad expression must not hold up the whole run. */
function runWithin(name: string, work: (text: string) => unknown, text: string): void {
  const sandbox = createContext({ work, text });
  expect(() => runInContext('void work(text)', sandbox, { timeout: LIMIT_MS }), name).not.toThrow();
}

function textsOf(parts: readonly string[]): string[] {
  const endings = ['', '\n', '!', '\u0000'];
  return parts.flatMap((part) => {
    const body = part.repeat(Math.ceil(LENGTH / part.length));
    return parts.flatMap((first) => endings.map((ending) => first + body + ending));
  });
}

describe('no regular expression takes more than linear time', () => {
  it('every unbounded expression has hostile inputs', () => {
    expect(literals.filter(isUnbounded).toSorted()).toEqual(Object.keys(hostile).toSorted());
    // Tested below as what is built of it.
    expect(found.flatMap((file) => file.constructed)).toEqual(['packages/core/src/message/mask-secrets.ts']);
  });

  it.each(Object.entries(hostile))('%s', { timeout: 120_000 }, (literal, parts) => {
    const [, source = '', flags = ''] = /^\/(.*)\/([a-z]*)$/s.exec(literal) ?? [];
    const all = new RegExp(source, flags.includes('g') ? flags : `${flags}g`);
    for (const text of textsOf(parts)) runWithin(literal, (it) => String(it).replaceAll(all, ''), text);
  });

  it('masking', { timeout: 300_000 }, () => {
    const parts = [
      ...[
        '://',
        '://a:',
        '@',
        '/',
        'password',
        'password=',
        'token: ',
        'secret="',
        "pwd='",
        'pass=\\',
        "'",
        '"',
      ],
      ...[
        '\\',
        ' ',
        'eyJ.',
        'Bearer ',
        'authorization: ',
        'cookie:',
        'api_',
        'shared',
        'access_key',
        'sig=',
        ':',
      ],
    ];
    for (const [place, first] of parts.entries())
      for (const second of parts.slice(place)) {
        const text = (first + second).repeat(LENGTH / (first + second).length);
        runWithin(`masking ${first}${second}`, (it) => maskSecrets(String(it)), text);
      }
  });

  it('the output of the command line', { timeout: 120_000 }, () => {
    for (const part of [' ', '\n', ' \n', '\u001b', 'a'])
      runWithin('printing', (it) => printable(oneLine(`a${it}a`)), part.repeat(LENGTH));
  });

  it('topic patterns', { timeout: 120_000 }, () => {
    const matches = topicMatcher(`${'*a'.repeat(10_000)}*b*`);
    for (const text of textsOf(['a', 'b', 'ab'])) runWithin('topics', (it) => matches(String(it)), text);
  });
});
