import { randomUUID } from 'node:crypto';
import { type OutboxRow, PermanentError, type PublishContext, type PublishResult } from '@postcommit/core';
import type { ToyPublisherClass } from '../toy-harness.js';
import type { ToyMessage } from '../toy-protocol.js';
import { type ToyOptions, ToyPublisher } from '../toy-publisher.js';
import { type Mutant, mutant } from './mutant.js';

type Batch = readonly OutboxRow[];
type Context = Pick<PublishContext, 'signal'>;
const SAME = 'a row that is published again has the same id, body and headers';
const OWN_ID = 'the id of a message is that of its row, as a header and in the field of the broker';
const EACH_HEADER = 'each header arrives unchanged, or its row is refused for good';

/** A publisher whose messages are changed. */
function changing(change: (message: ToyMessage, row: OutboxRow) => Partial<ToyMessage>): ToyPublisherClass {
  return class extends ToyPublisher {
    protected override async messageOf(row: OutboxRow): Promise<ToyMessage> {
      const message = await super.messageOf(row);
      return { ...message, ...change(message, row) };
    }
  };
}

function changingHeaders(
  change: (entry: readonly [string, string]) => ReadonlyArray<readonly [string, string]>,
): ToyPublisherClass {
  return changing(({ headers }) => ({
    headers: Object.fromEntries(Object.entries(headers).flatMap(change)),
  }));
}

function changingBody(change: (text: string, row: OutboxRow) => string): ToyPublisherClass {
  return changing(({ body }, row) => {
    const text = Buffer.from(body, 'base64').toString();
    return { body: Buffer.from(change(text, row)).toString('base64') };
  });
}

const identityMutants: readonly Mutant[] = [
  mutant(
    'makes a new id at each try',
    [SAME, 'a row whose answer was lost is published again under the same id'],
    changing(({ headers }, { attempts }) => {
      const id = `${randomUUID()}`;
      return attempts === 0 ? {} : { id, headers: { ...headers, 'outbox-id': id } };
    }),
  ),
  mutant(
    'leaves the id out of the headers',
    OWN_ID,
    changingHeaders((entry) => (entry[0] === 'outbox-id' ? [] : [entry])),
  ),
  mutant(
    'does not set the field of the broker for the id',
    OWN_ID,
    changing(() => ({ id: randomUUID() })),
  ),
  mutant(
    'sends the number of the attempt',
    SAME,
    changingBody((text, { attempts }) => text.replace(/\}$/, `,"attempt":${attempts + 1}}`)),
  ),
  mutant(
    'sends the time of the attempt',
    SAME,
    changing(({ headers }, { attempts }) => ({
      headers: { ...headers, 'outbox-created-at': `${attempts}` },
    })),
  ),
  mutant(
    'sends the headers of the first row with every row of its batch',
    'each row of a batch has its own id, body and headers',
    class extends ToyPublisher {
      override publishBatch(rows: Batch, context: Context): Promise<readonly PublishResult[]> {
        return super.publishBatch(
          rows.map((row) => ({ ...row, headers: rows[0]?.headers ?? {} })),
          context,
        );
      }
    },
  ),
  {
    ...mutant(
      'makes a new id for the broker, which then cannot drop duplicates',
      'a row that was published twice arrives once if the broker drops duplicates',
      changing(() => ({ id: randomUUID() })),
    ),
    settings: { dedupes: true },
  },
];

const mappingMutants: readonly Mutant[] = [
  mutant(
    'wraps the payload',
    'the body is the bare JSON of the payload, whatever it is',
    changingBody((text) => `{"data":${text}}`),
  ),
  mutant(
    'sends JSON as Latin-1',
    'the body is the bare JSON of the payload, whatever it is',
    changingBody((text) => Buffer.from(text, 'latin1').toString('latin1')),
  ),
  mutant(
    'refuses what is not text',
    'an ordinary object is never refused',
    class extends ToyPublisher {
      protected override assertPossible(row: OutboxRow, message: ToyMessage): void {
        super.assertPossible(row, message);
        if (typeof row.payload === 'object') throw new PermanentError('the payload is not text');
      }
    },
  ),
  mutant(
    'drops the headers of the row',
    [
      EACH_HEADER,
      'trace context arrives',
      '64 KiB of headers arrive whole, or their row is refused for good',
    ],
    changingHeaders((entry) => (entry[0].startsWith('outbox-') ? [entry] : [])),
  ),
  mutant(
    'changes the case of header names',
    EACH_HEADER,
    changingHeaders(([name, value]) => [[name.toLowerCase(), value]]),
  ),
  mutant(
    'replaces what is not ASCII in headers',
    EACH_HEADER,
    changingHeaders(([name, value]) => [[name, value.replace(/[^ -~\r\n]/g, '?')]]),
  ),
  mutant(
    'trims the values of headers',
    EACH_HEADER,
    changingHeaders(([name, value]) => [[name, value.trim()]]),
  ),
  mutant(
    'sends long headers cut off',
    '64 KiB of headers arrive whole, or their row is refused for good',
    changingHeaders(([name, value]) => [[name, value.slice(0, 32_768)]]),
  ),
  mutant(
    'sends a tenth of many headers',
    '64 KiB of headers arrive whole, or their row is refused for good',
    changing(({ headers }) => ({ headers: Object.fromEntries(Object.entries(headers).slice(-50)) })),
  ),
  mutant(
    'does not send the time of the row',
    'topic, key and time of the row arrive as headers',
    changingHeaders((entry) => (entry[0] === 'outbox-created-at' ? [] : [entry])),
  ),
  mutant(
    'uses the id as the key of a row that has none',
    'a row without a key has none at the broker',
    changing(({ key, id }) => ({ key: key ?? id })),
  ),
  mutant(
    'drops the key',
    [
      'rows of one key arrive in the order of the batch, with their key',
      'topic, key and time of the row arrive as headers',
    ],
    changing(() => ({ key: undefined })),
  ),
  mutant(
    'escapes keys',
    'any key arrives unchanged, or its row is refused for good',
    changing(({ key }) => ({ key: key && encodeURIComponent(key) })),
  ),
  mutant(
    'cuts off a large payload',
    'a payload of 1 MiB arrives whole, or its row is refused for good',
    changing(({ body }) => ({ body: body.slice(0, 100_000) })),
  ),
  mutant(
    'ignores encode',
    'encode decides body, content type and headers',
    class extends ToyPublisher {
      constructor({ encode: _, ...options }: ToyOptions) {
        super(options);
      }
    },
  ),
  mutant(
    'ignores cloudEvents',
    'cloudEvents sends the attributes of CloudEvents 1.0',
    class extends ToyPublisher {
      constructor({ cloudEvents: _, ...options }: ToyOptions) {
        super(options);
      }
    },
  ),
];

export const contentMutants: readonly Mutant[] = [...identityMutants, ...mappingMutants];
