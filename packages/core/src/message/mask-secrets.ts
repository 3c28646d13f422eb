const MASK = '***';

/** Names of secrets. Only the end of a name matters: `PGPASSWORD`, `client_secret`, `x-api-key`. */
const NAME = [
  'password|passwd|passphrase|pwd|secret|token',
  '(?<![a-z])(?:pass|sig)',
  '(?:api|access|account|private|secret|shared|signing|encryption)[-_ ]?key',
  '(?:shared[-_]?access|amz|goog)[-_]?signature',
].join('|');

/** Quoted as in JSON, nested JSON or SQL, or a bare word. An unclosed quote extends to the end of the text. */
const VALUE = [
  '"[^"\\\\]*(?:\\\\[^][^"\\\\]*)*"?',
  '\\\\+"[^"]*"?',
  "'[^'\\\\]*(?:(?:\\\\[^]|'')[^'\\\\]*)*'?",
  // A colon before a space is not part of the value: errorText joins an error and its cause with it.
  '[^\\s&;,"\'](?:[^\\s&;,:]|:(?!\\s))*',
].join('|');

const NAMED_SECRET = new RegExp(`((?:${NAME})\\\\*["']?[ \\t]*(?:=>|[:=])[ \\t]*)(?:${VALUE})`, 'gi');
const AUTHORIZATION =
  /(authorization\\*["']?[ \t]*[:=][ \t]*\\*["']?(?:(?:basic|bearer|digest|negotiate|token|apikey)[ \t]+)?)[^\s"'\\,;]+/gi;
/** A plain word after the scheme is prose, as in "Bearer token is missing". */
const SCHEME = /\b([Bb]earer|[Bb]asic|BEARER|BASIC)([ \t]+)(?![A-Z]?[a-z]{1,15}(?![\w.~+/-]))[\w.~+/-]+=*/g;
const COOKIE = /(cookie:[ \t]*)[^\s"'][^\r\n"']*/gi;
const JWT = /(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]+/g;

/**
 * Masks credentials in a text: in addresses (`postgres://app:secret@db`), by their name (`password=…`,
 * `"apiKey": "…"`), and after `Bearer`. When in doubt it masks too much, because a password may contain any character.
 * Takes linear time.
 */
export function maskSecrets(text: string): string {
  return text
    .replace(/\S+/g, maskAddresses)
    .replace(COOKIE, `$1${MASK}`)
    .replace(AUTHORIZATION, `$1${MASK}`)
    .replace(SCHEME, `$1$2${MASK}`)
    .replace(JWT, MASK)
    .replace(NAMED_SECRET, `$1${MASK}`);
}

/** Not a regular expression, which would take quadratic time on `://://://…`. */
function maskAddresses(word: string): string {
  const lastAt = word.lastIndexOf('@');
  let masked = '';
  let done = 0;
  for (let at = word.indexOf('://'); at !== -1 && at < lastAt; at = word.indexOf('://', done)) {
    const start = at + 3;
    const end = credentialsEnd(word, start, lastAt);
    masked += word.slice(done, start) + (end > start ? MASK : '');
    done = end;
  }
  return masked + word.slice(done);
}

/** The index where the credentials of an address end: at its `@`, or `start` if it has none. */
function credentialsEnd(word: string, start: number, lastAt: number): number {
  let at = start;
  while (!'/:@'.includes(word.charAt(at))) at++;
  // A password may contain a slash or an @, so after a colon assume it extends to the last @.
  if (word[at] === ':') return lastAt;
  if (word[at] === '/') return start;
  const slash = word.indexOf('/', at);
  return slash === -1 ? lastAt : word.lastIndexOf('@', slash);
}
