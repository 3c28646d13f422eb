import { PermanentError, UnavailableError } from '@postcommit/core';
import {
  type ErrorFields,
  isRefusal,
  isRefusedLogin,
  namesIn,
  partsOf,
  publishError,
} from './kafka-errors.js';
import type { KafkaOffset } from './kafka-producer.js';
import { type Place, placeOf } from './placed-row.js';
import type { PlaceOutcome } from './send-rounds.js';

/** A partition in the response to a request. */
interface PartitionResponse {
  readonly index: number;
  readonly errorCode: number;
}

interface ProduceResponse {
  readonly responses: ReadonlyArray<{
    readonly name: string;
    readonly partitionResponses: readonly PartitionResponse[];
  }>;
}

/** All that was stored, from a result or from an error. */
export function storedPlaces(offsets: readonly KafkaOffset[] = []): Map<Place, PlaceOutcome> {
  return new Map(offsets.map((offset) => [placeOf(offset), { kind: 'stored' }]));
}

/** What became of each of these partitions when the send failed. */
export function outcomesOf(error: unknown, places: ReadonlySet<Place>): Map<Place, PlaceOutcome> {
  const parts = partsOf(error);
  const answered = new Map(parts.flatMap((part) => answersIn(part)));
  const stored = storedPlaces(parts.flatMap(({ produced }) => produced?.offsets ?? []));
  const rest = (place: Place): PlaceOutcome => ({ kind: 'failed', reason: failureOf(place, error) });
  return new Map(
    [...places].map((place) => [place, stored.get(place) ?? answered.get(place) ?? rest(place)]),
  );
}

/** The outcomes that the response of one broker has. It has one for each partition, though it is an error. */
function answersIn({ response, errors = [] }: ErrorFields): [Place, PlaceOutcome][] {
  if (!isProduceResponse(response)) return [];
  return response.responses.flatMap(({ name, partitionResponses }, i) =>
    partitionResponses.map(({ index, errorCode }, j): [Place, PlaceOutcome] => {
      const place = placeOf({ topic: name, partition: index });
      if (errorCode === 0) return [place, { kind: 'stored' }];
      const path = `/responses/${i}/partition_responses/${j}`;
      return [
        place,
        outcomeOf(
          place,
          errors.find((error) => partsOf(error)[0]?.path === path),
        ),
      ];
    }),
  );
}

function outcomeOf(place: Place, error: unknown): PlaceOutcome {
  if (isRefusal(error)) return { kind: 'refused', reason: error };
  return { kind: 'failed', reason: failureOf(place, error) };
}

function failureOf(place: Place, error: unknown): Error {
  if (namesIn(error).includes('INVALID_TOPIC_EXCEPTION'))
    return new PermanentError(`Kafka refuses the topic of ${place}`, { cause: error });
  const failure = publishError(`Kafka did not confirm for ${place}`, error);
  // Another partition may well be on a broker that answers: whether all are away is found out by the next connect.
  if (failure instanceof UnavailableError && !isRefusedLogin(error))
    return new UnavailableError(failure.message, { cause: error });
  return failure;
}

function isProduceResponse(response: unknown): response is ProduceResponse {
  return typeof response === 'object' && response !== null && 'responses' in response;
}
