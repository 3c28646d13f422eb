/** The top of the home page. Not in the page itself: our formatter does not know YAML at the top of Markdown. */
export const home = {
  layout: 'home',
  hero: {
    name: 'Postcommit',
    text: 'The transactional outbox for TypeScript',
    tagline: 'A message is posted if, and only if, the transaction that produced it commits.',
    actions: [
      { theme: 'brand', text: 'Ten minutes to the first message', link: '/start/' },
      { theme: 'alt', text: 'What is promised', link: '/concepts/promises' },
    ],
  },
} as const;
