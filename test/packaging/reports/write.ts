/** Rewrites the reports that `reports.test.ts` compares: `pnpm reports`, after a build. */
import { writeFileSync } from 'node:fs';
import { apiReportPath, apiReports } from './api-report.js';
import { sizeReport, sizeReportPath } from './size-report.js';

for (const { folder, text } of apiReports()) writeFileSync(apiReportPath(folder), text);
writeFileSync(sizeReportPath, `${JSON.stringify(await sizeReport(), undefined, 2)}\n`);
