/** One JSON document per line in each direction. The broker answers in any order; `seq` says what. */
export interface ToyMessage {
  readonly id: string;
  readonly topic: string;
  readonly key?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
  /** As base64. */
  readonly body: string;
  readonly isDurable: boolean;
}

export interface ToySettings {
  readonly isDurable: boolean;
  readonly dedupes: boolean;
  readonly dedupeWindowMs: number;
}

export type ToyRequest = { readonly seq: number } & (
  | { readonly do: 'login'; readonly password: string }
  | { readonly do: 'settings' }
  | { readonly do: 'send'; readonly message: ToyMessage }
);

/** A request before it has its number. */
export type ToyCommand = ToyRequest extends infer Request
  ? Request extends ToyRequest
    ? Omit<Request, 'seq'>
    : never
  : never;

export interface ToyAnswer {
  readonly seq: number;
  readonly refused?: 'login' | 'full' | 'no topic' | 'too large';
  readonly settings?: ToySettings;
}
