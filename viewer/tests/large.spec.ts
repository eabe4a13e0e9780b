// How long ten million events take: LARGE names the page that `cargo run --release -p keel-page --example pages -- FOLDER large` made.

import { expect, test } from '@playwright/test';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';

const LARGE = process.env['LARGE'];

test('ten million events: size, first picture, frames while panning', async ({ page }) => {
  test.skip(!LARGE, 'LARGE names no page');
  test.setTimeout(120_000);
  const path = resolve(LARGE!);
  await page.goto(`file://${path}`);
  await page.waitForSelector('main[data-ready=true]');
  const first = Number(await page.locator('main').getAttribute('data-first'));
  const rates = [];
  for (const zooms of [0, 3, 3, 3]) {
    for (let i = 0; i < zooms; i++) await page.keyboard.press('+');
    await page.waitForTimeout(1000);
    rates.push(
      await page.evaluate(async () => {
        const frames = 60;
        const times: number[] = [];
        for (let i = 0; i < frames; i++) {
          const key = i % 20 < 10 ? 'ArrowRight' : 'ArrowLeft';
          document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
          times.push(await new Promise<number>((done) => requestAnimationFrame(done)));
        }
        const gaps = times.slice(1).map((time, i) => time - times[i]!).sort((a, b) => a - b);
        return { median_ms: gaps[gaps.length >> 1], p95_ms: gaps[Math.floor(gaps.length * 0.95)] };
      }),
    );
  }
  const events = await page.evaluate(() => JSON.parse(document.getElementById('run0')!.textContent!).detail_events as number);
  console.log(JSON.stringify({ events, bytes: statSync(path).size, first_picture_ms: first, panning: rates }));
  expect(events).toBeGreaterThan(9e6);
  expect(statSync(path).size).toBeLessThan(10e6);
});
