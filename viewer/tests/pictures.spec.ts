// The small pictures of docs/: PICTURES names a folder of pages, and `pictures.json` there which part of each to show: its name, the
// span in milliseconds (none for all of it) and where each run's picture goes (nowhere: it has none).

import { test } from '@playwright/test';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const FOLDER = process.env['PICTURES'];

interface Picture {
  page: string;
  ms: [number, number] | null;
  to: (string | null)[];
}

test('pictures for people who have no page before them', async ({ browser }) => {
  test.skip(!FOLDER, 'PICTURES names no folder');
  test.setTimeout(300_000);
  const wanted = JSON.parse(readFileSync(resolve(FOLDER!, 'pictures.json'), 'utf8')) as Picture[];
  for (const { page: name, ms, to } of wanted) {
    // Two runs beside each other, each as wide as half of a document's column needs it.
    const page = await browser.newPage({ viewport: { width: 1240, height: 900 }, colorScheme: 'light' });
    await page.goto(`file://${resolve(FOLDER!, name)}#${ms ? `${ms[0]}-${ms[1]}ms` : ''}`);
    await page.waitForSelector('main[data-ready=true]');
    for (const [run, path] of to.entries()) {
      if (!path) continue;
      const article = page.locator('article').nth(run);
      const [head, map] = [await article.locator('header').boundingBox(), await article.locator('.map').boundingBox()];
      const clip = { x: head!.x - 6, y: head!.y, width: head!.width + 12, height: map!.y + map!.height + 1 - head!.y };
      await page.screenshot({ path, clip });
    }
    await page.close();
  }
});
