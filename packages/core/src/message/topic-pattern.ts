/**
 * Returns a function that tests whether a topic matches a pattern. `*` matches any number of characters, also none. It
 * is not a regular expression: no other character is special, and no pattern is slow.
 */
export function topicMatcher(pattern: string): (topic: string) => boolean {
  const parts = pattern.split('*');
  const head = parts.shift() ?? '';
  const tail = parts.pop();
  if (tail === undefined) return (topic) => topic === pattern;
  return (topic) =>
    topic.startsWith(head) && topic.endsWith(tail) && containsInOrder(topic, head, parts, tail);
}

/** Matches each part at its first occurrence, which leaves the most room for the parts after it. */
function containsInOrder(topic: string, head: string, parts: readonly string[], tail: string): boolean {
  let from = head.length;
  for (const part of parts) {
    const at = topic.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from + tail.length <= topic.length;
}
