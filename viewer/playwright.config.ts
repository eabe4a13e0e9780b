// Pages that `cargo run -p keel-page --example pages` made (PAGES names their folder), in the system's own Chromium.
import { defineConfig } from '@playwright/test';

export default defineConfig({
  testDir: 'tests',
  timeout: 30_000,
  workers: 1,
  reporter: 'line',
  // A folder of its own: Playwright empties it first, and the pages lie beside it.
  outputDir: `${process.env['PAGES_OUT'] ?? 'out'}/failures`,
  use: {
    viewport: { width: 1400, height: 900 },
    launchOptions: { executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox'] },
  },
});
