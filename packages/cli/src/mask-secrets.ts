/**
 * Takes credentials out of a message: `postgres://app:secret@db` and `password=secret`. It rather masks too much: a
 * password may hold any character, so everything up to the last @ of a word goes.
 */
export function maskSecrets(text: string): string {
  return text
    .replace(/:\/\/\S*@/g, '://***@')
    .replace(/\b(\w*password|passwd|pwd)=('[^']*'|"[^"]*"|[^\s&;,]+)/gi, '$1=***');
}
