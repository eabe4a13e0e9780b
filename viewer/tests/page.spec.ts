// The page in a real browser. The pages are those of `cargo run -p keel-page --example pages`; PAGES names their folder.

import { expect, test, type Page } from '@playwright/test';
import { resolve } from 'node:path';

const FOLDER = resolve(process.env['PAGES'] ?? 'out/pages');
const WHOLE = 4e9;

/** Opens a page; whatever it logs or throws, and whatever it asks a network for, fails the test. */
async function open(page: Page, name = 'one.html'): Promise<void> {
  page.on('pageerror', (error) => expect(error.message, 'an error of the page').toBe(''));
  page.on('console', (message) => {
    // These tests read pixels, which Chromium finds slow.
    if (!message.text().startsWith('Canvas2D: Multiple readback')) expect(message.text(), 'something the page logs').toBe('');
  });
  page.on('request', (request) => expect(request.url()).toMatch(/^(file|data|blob):/));
  await page.goto(`file://${FOLDER}/${name}`);
  await page.waitForSelector('main[data-ready=true]');
}

async function span(page: Page): Promise<{ from: number; to: number }> {
  // What changed is drawn with the next frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return page.evaluate(() => {
    const { from, to } = document.querySelector('main')!.dataset;
    return { from: Number(from), to: Number(to) };
  });
}

/** The colour of the map's pixel at a share of its width and height, within the rows. */
async function colour(page: Page, x: number, y: number, map = 0): Promise<number[]> {
  await span(page);
  return page.locator('.map canvas').nth(map).evaluate(
    (canvas, [x, y]) => {
      const of = canvas as HTMLCanvasElement;
      const [left, top] = [132 * devicePixelRatio, 20 * devicePixelRatio];
      const at = [left + (of.width - left) * x!, top + (of.height - top) * y!].map(Math.round) as [number, number];
      return [...of.getContext('2d')!.getImageData(...at, 1, 1).data].slice(0, 3);
    },
    [x, y],
  );
}

test('shows the run: red where there is a crowd, hatched where cores idle beside it', async ({ page }) => {
  await open(page);
  await expect(page.locator('h2')).toContainText('idled for');
  expect((await page.title()).length, 'short').toBeLessThan(60);
  await expect(page.locator('.verdict')).toContainText('of the machine) while threads waited');
  expect(await span(page)).toEqual({ from: 0, to: WHOLE });
  expect(await colour(page, 0.4, 0.1), 'node 0 has 5 to 8 tasks a CPU').toEqual([216, 69, 43]);
  const hatched = await Promise.all([0, 1, 2, 3, 4, 5].map((i) => colour(page, 0.4 + i * 0.0009, 0.35)));
  const kinds = new Set(hatched.map(String));
  for (const kind of kinds) expect(['17,17,17', '255,179,209']).toContain(kind);
});

test('zooms and pans by mouse', async ({ page }) => {
  await open(page);
  const box = (await page.locator('.map canvas').boundingBox())!;
  await page.mouse.move(box.x + 132 + (box.width - 132) / 2, box.y + 100);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -60);
  await page.keyboard.up('Control');
  const near = await span(page);
  expect(near.to - near.from).toBeLessThan(WHOLE * 0.6);
  expect((near.from + near.to) / 2).toBeCloseTo(WHOLE / 2, -8);
  await page.mouse.down();
  await page.mouse.move(box.x + 132 + (box.width - 132) / 2 - 100, box.y + 100, { steps: 5 });
  await page.mouse.up();
  const moved = await span(page);
  expect(moved.from).toBeGreaterThan(near.from);
  expect(moved.to - moved.from).toBeCloseTo(near.to - near.from, -2);
});

test('zooms by two fingers', async ({ page }) => {
  await open(page);
  await page.locator('.map canvas').evaluate((canvas) => {
    const box = canvas.getBoundingClientRect();
    canvas.setPointerCapture = () => undefined;
    const at = (type: string, pointerId: number, x: number): boolean =>
      canvas.dispatchEvent(new PointerEvent(type, { pointerId, pointerType: 'touch', clientX: box.x + x, clientY: box.y + 80, bubbles: true, button: 0 }));
    at('pointerdown', 1, 300);
    at('pointerdown', 2, 400);
    at('pointermove', 2, 600);
    at('pointerup', 1, 300);
    at('pointerup', 2, 600);
  });
  const { from, to } = await span(page);
  expect((to - from) / WHOLE).toBeCloseTo(1 / 3, 1);
});

test('does by keyboard what the mouse does', async ({ page }) => {
  await open(page);
  await page.keyboard.press('+');
  await page.keyboard.press('+');
  const near = await span(page);
  expect(near.to - near.from).toBe(WHOLE / 4);
  await page.keyboard.press('ArrowRight');
  expect((await span(page)).from).toBeCloseTo(near.from + WHOLE / 40, -3);
  await page.keyboard.press('Shift+ArrowLeft');
  expect((await span(page)).from).toBeLessThan(near.from);
  await page.keyboard.press('0');
  expect(await span(page)).toEqual({ from: 0, to: WHOLE });
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog')).toBeVisible();
});

test('opens where a link leads', async ({ page }) => {
  await open(page, 'one.html#1200-1300.5ms');
  expect(await span(page)).toEqual({ from: 1.2e9, to: 1.3005e9 });
  for (const wrong of ['#9000-9100ms', '#5-4ms', '#x', '#1-2']) {
    await page.evaluate((hash) => void (location.hash = hash), wrong);
    expect(await span(page), wrong).toEqual({ from: 1.2e9, to: 1.3005e9 });
  }
  await page.evaluate(() => void (location.hash = '#0-500ms'));
  await expect(page.locator('main')).toHaveAttribute('data-to', '500000000');
});

test('leads from a finding to its place, its task and the decisions of that time', async ({ page }) => {
  await open(page);
  await page.locator('.finding').first().click();
  const { from, to } = await span(page);
  expect(from / 1e9).toBeGreaterThan(0.5);
  expect(from / 1e9).toBeLessThan(1.2);
  expect(to / 1e9).toBeGreaterThan(3);
  await expect(page.locator('.chosen')).toContainText('its CPUs');
  await page.keyboard.press('n');
  await expect(page.locator('.finding').nth(1)).toHaveAttribute('aria-current', 'true');
  const decision = page.locator('.moment.worth3').first();
  await expect(decision).toContainText('balanced, moved 0');
  await expect(page.locator('.side')).toContainText('looked for an idle CPU at one where a task waited, and moved none');
  await decision.click();
  await expect(page.locator('.moment[aria-pressed=true] .group').first()).toContainText('own group of 8 CPUs');
});

test('colours by five things', async ({ page }) => {
  await open(page);
  const seen = new Set<string>();
  for (const mode of ['queue', 'load', 'use', 'task', 'priority']) {
    expect(await page.locator('main').getAttribute('data-mode')).toBe(mode);
    seen.add(String(await colour(page, 0.4, 0.1)));
    await page.keyboard.press('c');
    await span(page);
  }
  expect(seen.size).toBeGreaterThanOrEqual(4);
  await page.getByRole('button', { name: 'load', exact: true }).click();
  await span(page);
  expect(await page.locator('main').getAttribute('data-mode')).toBe('load');
});

test('draws single events when it is near enough', async ({ page }) => {
  await open(page);
  const map = page.locator('.map canvas');
  await expect(map).toHaveAttribute('data-exact', 'false');
  for (let i = 0; i < 6; i++) await page.keyboard.press('+');
  await expect(map).toHaveAttribute('data-exact', 'true');
  // The same place by sums and by events: still crowded, still red.
  await page.keyboard.press('0');
  await page.locator('.finding').first().click();
  for (let i = 0; i < 6; i++) await page.keyboard.press('+');
  await expect(map).toHaveAttribute('data-exact', 'true');
  expect(await colour(page, 0.5, 0.1)).toEqual([216, 69, 43]);
});

test('tells what is under the pointer, and chooses by a click', async ({ page }) => {
  await open(page);
  const box = (await page.locator('.map canvas').boundingBox())!;
  const place = [box.x + 132 + (box.width - 132) * 0.4, box.y + 30] as const;
  await page.mouse.move(...place);
  await expect(page.locator('.tip')).toContainText('CPU 0 (core 0, cache 0, node 0)');
  await expect(page.locator('.tip')).toContainText('runnable, busy 100 %');
  await page.mouse.click(...place);
  await expect(page.locator('.chosen')).toContainText('CPU 0: its tasks');
  await page.locator('.chosen .share').first().click();
  await expect(page.locator('.chosen')).toContainText('its CPUs');
  await page.keyboard.press('Escape');
  await expect(page.locator('.chosen')).toBeHidden();
});

test('compares two runs on one clock', async ({ page }) => {
  await open(page, 'two.html');
  await expect(page.locator('.map canvas')).toHaveCount(2);
  expect(await page.title()).toBe("</script><script>document.title='owned'</script> | even");
  await expect(page.locator('h2')).toContainText(['idled for', 'idled for']);
  await expect(page.locator('.figures')).toContainText('second / first');
  expect(await colour(page, 0.4, 0.1, 0)).toEqual([216, 69, 43]);
  expect(await colour(page, 0.4, 0.1, 1)).not.toEqual([216, 69, 43]);
  const [first, second] = await page.locator('.map canvas').all();
  const [one, two] = [await first!.boundingBox(), await second!.boundingBox()];
  expect(two!.x, 'side by side').toBeGreaterThan(one!.x + one!.width);
  expect(two!.width).toBe(one!.width);
  await page.keyboard.press('n');
  expect((await span(page)).from).toBeGreaterThan(0);
});

test('shows shares with the digits of the verdict', async ({ page }) => {
  await open(page);
  const verdict = (await page.locator('.verdict').first().textContent())!;
  const share = /\(([^()]* %) of the machine\)/.exec(verdict)![1]!;
  await expect(page.locator('.figures tr', { hasText: 'share of the machine' }).locator('td')).toHaveText(share);
});

test('says of delays what the table of figures says', async ({ page }) => {
  await open(page);
  const rows = await page.locator('.figures tr').evaluateAll((all) => all.map((row) => [row.querySelector('th')!.textContent, row.querySelector('td')!.textContent]));
  // The table leaves out what is 0.
  const figure = (row: string): string => rows.find(([name]) => name === row)?.[1] ?? '0';
  expect(rows.flat()).toContain('longest');
  const note = (await page.locator('.delays .note').textContent())!;
  const [, p50, p99, max] = /half took up to (.*), 99 % up to (.*), the longest (.*)\.$/.exec(note)!;
  for (const [said, row] of [[p50, 'wakeup delay, p50'], [p99, 'p99'], [max, 'longest']]) expect(said, row).toMatch(new RegExp(`^${figure(row!)}`));
});

test('draws delays in steps: flat where nothing was measured', async ({ page }) => {
  await open(page);
  const tops = await page.locator('.delays canvas').evaluate((canvas) => {
    const of = canvas as HTMLCanvasElement;
    const { data } = of.getContext('2d')!.getImageData(0, 0, of.width, of.height);
    // The line is the only thing with a colour.
    const coloured = (x: number, y: number): boolean => {
      const [r, g, b, a] = data.slice(4 * (y * of.width + x), 4 * (y * of.width + x) + 4) as unknown as [number, number, number, number];
      return a > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 60;
    };
    const rows = [...Array(of.height).keys()];
    return [...Array(of.width).keys()].map((x) => rows.find((y) => coloured(x, y)) ?? -1).filter((y) => y >= 0);
  });
  expect(tops.length, 'columns that the line crosses').toBeGreaterThan(100);
  const changes = tops.filter((y, i) => i > 0 && y !== tops[i - 1]).length;
  expect(changes, 'columns in which it falls').toBeLessThan(tops.length / 4);
});

test('shows hostile names as text, and does nothing of what they say', async ({ page }) => {
  await open(page);
  expect(await page.title()).not.toBe('owned');
  await page.getByPlaceholder('name or pid').fill('script');
  expect(await page.locator('script[src], img, svg, iframe').count()).toBe(0);
  // The tasks of CPU 0 have these names.
  const box = (await page.locator('.map canvas').boundingBox())!;
  await page.mouse.click(box.x + 140, box.y + 26);
  await expect(page.locator('.chosen')).toContainText("</script><script>document.title='owned'</script>");
  await expect(page.locator('.chosen')).toContainText('evil\\u{202e}txt\\u{0}\\u{a}');
  await page.getByText('About the recording').click();
  await expect(page.locator('.notes')).toContainText("<script>document.title='owned'</script>");
  expect(await page.title()).not.toBe('owned');
  // Markup that got in by whatever way would still do nothing: only the viewer's own script may run.
  page.removeAllListeners('console');
  const refused = await page.evaluate(async () => {
    const refusal = new Promise<string>((done) => document.addEventListener('securitypolicyviolation', (event) => done(event.effectiveDirective)));
    const script = document.createElement('script');
    script.textContent = "document.title='owned'";
    document.body.append(script);
    return refusal;
  });
  expect(refused).toBe('script-src-elem');
  expect(await page.title()).not.toBe('owned');
});

test('shows a profile in a tab: sorted, filtered, with the source', async ({ page }) => {
  await open(page, 'profile.html');
  await expect(page.locator('.profiles')).toBeHidden();
  await page.getByRole('tab', { name: 'Profile' }).click();
  await expect(page.locator('.map').first()).toBeHidden();
  await expect(page.locator('.profile').nth(1)).toContainText('This run was not profiled.');
  await expect(page.locator('.profile p').first()).toContainText('1,000 callbacks, 60.0 ns each; 60.0 µs in them');
  const table = page.getByRole('region', { name: 'Lines', exact: true });
  const first = table.locator('tbody tr').first();
  await expect(first).toContainText('entering the callback');
  await table.getByRole('button', { name: 'hits' }).click();
  await expect(table.locator('[aria-sort=descending]')).toHaveText('hits');
  await table.getByRole('button', { name: 'hits' }).click();
  await expect(table.locator('[aria-sort=ascending]')).toHaveText('hits');
  await table.getByPlaceholder('only with').fill('LOCK(');
  await expect(table.locator('tbody tr')).toHaveCount(1);
  await first.locator('.place').click();
  const line = page.locator('.source tr[aria-current]');
  await expect(line).toBeFocused();
  await expect(line).toContainText('lock("<!--");');
  await expect(line, 'a condition that went one way').toContainText('1/2');
  await page.getByLabel('Which lines').selectOption('never');
  await expect(page.locator('.source tbody tr')).toHaveText([/^never.*count\+\+; \/\/ <script>/]);
  await page.getByRole('region', { name: 'Functions' }).getByPlaceholder('only with').fill('nobody has this name');
  await expect(page.getByRole('region', { name: 'Functions' }).locator('tbody')).toHaveText('none');
});

test('turns to the profile and back by keyboard and by a link', async ({ page }) => {
  await open(page, 'profile.html');
  await page.keyboard.press('s');
  await expect(page.locator('.profiles')).toBeVisible();
  // What moves the timeline does not where it is not seen.
  await page.keyboard.press('+');
  await page.keyboard.press('s');
  await expect(page.locator('.map').first()).toBeVisible();
  expect(await span(page)).toEqual({ from: 0, to: WHOLE });
  await page.getByRole('tab', { name: 'Timeline' }).focus();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByRole('tab', { name: 'Profile' })).toBeFocused();
  await expect(page.locator('.profiles')).toBeVisible();
  await page.evaluate(() => void (location.hash = '#0-500ms'));
  await expect(page.locator('.map').first()).toBeVisible();
  expect((await page.locator('.map').first().boundingBox())!.width).toBeGreaterThan(300);
  await page.evaluate(() => void (location.hash = '#profile'));
  await expect(page.locator('.profiles')).toBeVisible();
});

test('has no tab where nothing was profiled', async ({ page }) => {
  await open(page);
  await expect(page.getByRole('tab')).toHaveCount(0);
  await page.keyboard.press('s');
  await expect(page.locator('.map')).toBeVisible();
});

test('shows hostile names of a profile as text', async ({ page }) => {
  await open(page, 'profile.html#profile');
  expect(await page.title()).not.toBe('owned');
  expect(await page.locator('script[src], img, svg, iframe').count()).toBe(0);
  const profile = page.locator('.profile').first();
  await expect(profile).toContainText("</script><script>document.title='owned'</script>");
  await expect(profile).toContainText("<img src=x onerror=document.title='owned'>.c");
  await expect(profile).toContainText('"><svg onload=document.title=\'owned\'>');
  await expect(profile).toContainText('evil\\u{202e}txt\\u{0}\\u{a}');
});

test('is light or dark as the system is, or as one chooses', async ({ browser }) => {
  const page = await browser.newPage({ colorScheme: 'dark', viewport: { width: 1400, height: 900 } });
  await open(page);
  const paper = (): Promise<string> => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(await paper()).toBe('rgb(27, 32, 39)');
  expect(await colour(page, 0.4, 0.1)).toEqual([232, 67, 47]);
  await page.keyboard.press('t');
  expect(await paper()).toBe('rgb(255, 255, 255)');
  expect(await colour(page, 0.4, 0.1)).toEqual([216, 69, 43]);
  await page.close();
});

test('is printed in light colours, without its buttons', async ({ browser }) => {
  const page = await browser.newPage({ colorScheme: 'dark', viewport: { width: 1000, height: 900 } });
  await open(page);
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await page.emulateMedia({ media: 'print' });
  expect(await colour(page, 0.4, 0.1)).toEqual([216, 69, 43]);
  await expect(page.getByRole('button', { name: 'zoom in' })).toBeHidden();
  expect((await page.locator('.map').boundingBox())!.height, 'it fits on a sheet across').toBeLessThan(480);
  await expect(page.locator('.moment').first(), 'the lists are there').toBeVisible();
  const pdf = await page.pdf({ format: 'A4', landscape: true });
  expect(pdf.length).toBeGreaterThan(10_000);
  await page.close();
});

for (const width of [1400, 800, 400]) {
  test(`fits ${width} pixels`, async ({ page }) => {
    await page.setViewportSize({ width, height: 900 });
    await open(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(width);
    await page.screenshot({ path: `${process.env['PAGES_OUT'] ?? 'out'}/one-${width}.png`, fullPage: true });
  });

  test(`fits ${width} pixels with a profile`, async ({ page }) => {
    await page.setViewportSize({ width, height: 900 });
    await open(page, 'profile.html#profile');
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(width);
    const name = (await page.getByRole('region', { name: 'Functions' }).locator('td.text').first().boundingBox())!;
    expect(name.x, 'a name is seen').toBeLessThan(width - 60);
    await page.screenshot({ path: `${process.env['PAGES_OUT'] ?? 'out'}/profile-${width}.png`, fullPage: true });
  });
}
