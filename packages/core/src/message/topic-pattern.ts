/**
 * Tells which topics a pattern means: `*` stands for any characters, none included. No regular expression: nothing in
 * a pattern can make it slow or mean something else.
 */
export function topicMatcher(pattern: string): (topic: string) => boolean {
  const parts = pattern.split('*');
  const head = parts.shift() ?? '';
  const tail = parts.pop();
  if (tail === undefined) return (topic) => topic === pattern;
  return (topic) => topic.startsWith(head) && topic.endsWith(tail) && holdsInOrder(topic, head, parts, tail);
}

/** Taking each part where it first occurs leaves the most room for those after it. */
function holdsInOrder(topic: string, head: string, parts: readonly string[], tail: string): boolean {
  let from = head.length;
  for (const part of parts) {
    const at = topic.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from + tail.length <= topic.length;
}
