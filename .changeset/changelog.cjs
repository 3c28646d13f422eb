/**
 * How a changeset becomes a line of a change log: its text, as it is. All packages share one version, so that lines
 * about updated siblings would only repeat the heading: a heading without lines says "released with the others".
 */
async function getReleaseLine({ summary }) {
  const [first, ...rest] = summary.trim().split('\n');
  return [`- ${first}`, ...rest.map((line) => (line === '' ? '' : `  ${line}`))].join('\n');
}

async function getDependencyReleaseLine() {
  return '';
}

module.exports = { getReleaseLine, getDependencyReleaseLine };
