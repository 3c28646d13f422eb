/** The part of the Standard Schema interface (version 1) that we call: Zod, Valibot, ArkType and others have it. */
export interface StandardSchema<Input = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult | Promise<StandardResult>;
    readonly types?: { readonly input: Input; readonly output: unknown } | undefined;
  };
}

export type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<StandardIssue> };

export interface StandardIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

/**
 * What the schema objects to, or undefined. A schema is a check here, not a transformation: the payload is
 * stored and published as it was given.
 */
export async function schemaProblem(schema: StandardSchema, payload: unknown): Promise<string | undefined> {
  const result = await schema['~standard'].validate(payload);
  if (result.issues === undefined) return undefined;
  return result.issues.map(describeIssue).join('; ') || 'the schema refuses it without a message';
}

function describeIssue({ path = [], message }: StandardIssue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
}
