/**
 * The part of the Standard Schema interface (version 1) that is used. Zod, Valibot, ArkType and others implement it.
 */
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
 * Returns the schema's issues as text, or undefined if the payload is valid. Schemas only check: the payload is stored
 * and published as it is, without transformations.
 */
export async function schemaProblem(schema: StandardSchema, payload: unknown): Promise<string | undefined> {
  const result = await schema['~standard'].validate(payload);
  if (result.issues === undefined) return undefined;
  return result.issues.map(describeIssue).join('; ') || 'the schema rejected it without a message';
}

function describeIssue({ path = [], message }: StandardIssue): string {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
}
