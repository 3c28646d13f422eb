/** The top of the home page. Not in the page itself: our formatter does not know YAML at the top of Markdown. */
export const home = {
  layout: 'home',
  hero: {
    name: 'Postcommit',
    text: 'The transactional outbox for TypeScript',
    tagline: 'A message is posted if, and only if, the transaction that produced it commits.',
    image: { src: '/logo.svg', alt: '' },
    actions: [
      { theme: 'brand', text: 'Get started', link: '/start/' },
      { theme: 'alt', text: 'Promises', link: '/concepts/promises' },
      { theme: 'alt', text: 'Comparison', link: '/comparison' },
    ],
  },
} as const;
