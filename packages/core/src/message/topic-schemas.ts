import type { EntryOptions, OutboxEntry, OutboxRow } from './outbox-row.js';
import type { StandardSchema } from './standard-schema.js';

/** A Standard Schema (Zod, Valibot, ArkType …) for each topic. */
export type TopicSchemas = Readonly<Record<string, StandardSchema>>;

/** The input type of a schema. Schemas only check, so this is also what is stored and published. */
type InputOf<Schema> = Schema extends StandardSchema<infer Input> ? Input : unknown;

/** The entries that these topics allow; any entry if no topic is declared. */
export type EntryFor<Topics> = [keyof Topics] extends [never]
  ? OutboxEntry
  : {
      [Topic in keyof Topics & string]: {
        readonly topic: Topic;
        readonly payload: InputOf<Topics[Topic]>;
      } & EntryOptions;
    }[keyof Topics & string];

/** The rows of these topics; `topic` discriminates `payload`. */
export type RowFor<Topics> = [keyof Topics] extends [never]
  ? OutboxRow
  : {
      [Topic in keyof Topics & string]: Omit<OutboxRow, 'topic' | 'payload'> & {
        readonly topic: Topic;
        readonly payload: InputOf<Topics[Topic]>;
      };
    }[keyof Topics & string];
