// One script and one style, without hashes in their names, and the script's own hash beside them: keel puts all three into
// each page (crates/page/src/html.rs).
import { createHash } from 'node:crypto';
import { defineConfig, type Plugin } from 'vite';

/** Writes the SHA-256 of the script, as the page's policy names it. */
function hash(): Plugin {
  return {
    name: 'hash',
    generateBundle(_, bundle) {
      const script = bundle['viewer.js'];
      if (script?.type !== 'chunk') throw new Error('there is no viewer.js');
      const source = createHash('sha256').update(script.code).digest('base64') + '\n';
      this.emitFile({ type: 'asset', fileName: 'viewer.sha256', source });
    },
  };
}

export default defineConfig({
  build: {
    target: 'es2022',
    cssCodeSplit: false,
    reportCompressedSize: false,
    rollupOptions: {
      input: 'src/main.ts',
      output: { entryFileNames: 'viewer.js', assetFileNames: 'viewer.[ext]', codeSplitting: false },
    },
    modulePreload: false,
  },
  plugins: [hash()],
});
