/** A promise with its handles: how tests let a job go on when they are ready. */
export interface Gate {
  readonly passed: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}
