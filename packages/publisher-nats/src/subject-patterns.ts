/** Whether a pattern of a stream takes every subject that another subject or pattern stands for. */
export function covers(pattern: string, subject: string): boolean {
  const wanted = subject.split('.');
  const tokens = pattern.split('.');
  for (const [index, token] of tokens.entries()) {
    const part = wanted[index];
    if (part === undefined) return false;
    if (token === '>') return true;
    if (part === '>' || (token !== '*' && token !== part)) return false;
  }
  return wanted.length === tokens.length;
}
