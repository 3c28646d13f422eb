/** Selects the same tab in all code groups of a page: whoever reads Prisma in one wants Prisma in the next. */
export function syncTabs(): void {
  // Also called while pages are rendered to files, without a browser.
  if (typeof document === 'undefined') return;
  document.addEventListener('change', ({ target }) => {
    const label = labelOf(target);
    if (label === undefined) return;
    for (const input of document.querySelectorAll<HTMLInputElement>('.vp-code-group .tabs input')) {
      if (!input.checked && labelOf(input) === label) input.click();
    }
  });
}

function labelOf(target: EventTarget | null): string | undefined {
  if (!(target instanceof HTMLInputElement) || !target.closest('.vp-code-group')) return undefined;
  return target.labels?.[0]?.textContent ?? undefined;
}
