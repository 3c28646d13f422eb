interface Keyed {
  readonly key?: string | undefined;
}

/** Keys whose rows have to wait, because an older row of the key must be published first. */
export class HeldKeys {
  readonly #keys = new Set<string>();

  hold({ key }: Keyed): void {
    if (key !== undefined) this.#keys.add(key);
  }

  has({ key }: Keyed): boolean {
    return key !== undefined && this.#keys.has(key);
  }
}
