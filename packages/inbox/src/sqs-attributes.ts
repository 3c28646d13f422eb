import type { Headers } from './headers-of.js';
import { parsedObject } from './parsed-object.js';

/** The attributes of a message: of SQS, of AWS Lambda, or of SNS inside of a message of SQS. */
export function sqsAttributes(attributes: unknown): Headers {
  if (typeof attributes !== 'object' || attributes === null) return new Map();
  const texts = Object.entries(attributes).map(
    ([name, value]) => [name.toLowerCase(), attributeValue(value)] as const,
  );
  return new Map(texts.filter((each): each is readonly [string, string] => typeof each[1] === 'string'));
}

function attributeValue(attribute: unknown): unknown {
  if (typeof attribute !== 'object' || attribute === null) return undefined;
  const { StringValue, stringValue, Value } = attribute as Record<string, unknown>;
  return StringValue ?? stringValue ?? Value;
}

/** Without raw delivery, SNS wraps message and attributes in JSON. */
export function snsEnvelope(body: unknown): { attributes: unknown; message: unknown } | undefined {
  const { Type, Message, MessageAttributes } = parsedObject(body) ?? {};
  if (Type !== 'Notification' || typeof Message !== 'string') return undefined;
  return { attributes: MessageAttributes, message: Message };
}
