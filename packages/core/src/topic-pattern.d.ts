/**
 * Tells which topics a pattern means: `*` stands for any characters, none included. No regular expression: nothing in
 * a pattern can make it slow or mean something else.
 */
export declare function topicMatcher(pattern: string): (topic: string) => boolean;
