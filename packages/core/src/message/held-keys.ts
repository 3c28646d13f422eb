interface Keyed {
  readonly key?: string | undefined;
}

/** Keys whose rows must wait until an older row with the same key has been published. */
export class HeldKeys {
  readonly #keys = new Set<string>();

  hold({ key }: Keyed): void {
    if (key !== undefined) this.#keys.add(key);
  }

  has({ key }: Keyed): boolean {
    return key !== undefined && this.#keys.has(key);
  }
}
