// Without the theme's own web font: pages use what the reader's system has.
import DefaultTheme from 'vitepress/theme-without-fonts';
import './style.css';
import { syncTabs } from './sync-tabs.js';

// biome-ignore lint/style/noDefaultExport: VitePress takes the theme from the default export.
export default { extends: DefaultTheme, enhanceApp: syncTabs };
