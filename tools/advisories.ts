/** What is known to be wrong with earlier versions of a package that the service runs on. */
export interface Advisory {
  package: string;
  /** The first version of each major one that has it mended; a later major one has it too. */
  mended: string[];
  ids: string[];
}

/**
 * By hand, as of 2026-11-21, the newest of September 2026: those of 2026 as copies of GitHub's and the maintainers'
 * advisories have them, the older ones mostly from memory. It is not whole, and it does not grow by itself: where the
 * registry answers it, `npm audit --omit=dev` says more. Whoever raises a version because of an advisory adds it here.
 */
export const advisories: Advisory[] = [
  { package: 'fastify', mended: ['4.29.1', '5.3.2'], ids: ['CVE-2025-32442', 'GHSA-mg2h-6x62-wpwc'] },
  { package: 'fastify', mended: ['5.7.2'], ids: ['CVE-2026-25223', 'GHSA-jx2c-rxcm-jvmq'] },
  { package: 'fastify', mended: ['5.7.3'], ids: ['CVE-2026-25224', 'GHSA-mrq3-vjjr-p77c'] },
  { package: 'fastify', mended: ['5.8.1'], ids: ['CVE-2026-3419', 'GHSA-573f-x89g-hqp9'] },
  { package: 'fastify', mended: ['5.8.3'], ids: ['CVE-2026-3635', 'GHSA-444r-cwp2-x5xf'] },
  { package: 'fastify', mended: ['5.8.5'], ids: ['CVE-2026-33806', 'GHSA-247c-9743-5963'] },
  // 5.12.1 mends these two; 5.12.2 more, whose ids were not to be found.
  { package: 'fastify', mended: ['5.12.2'], ids: ['GHSA-3m5p-2c4r-xxw2', 'GHSA-w2qp-rph6-63g4'] },
  { package: 'find-my-way', mended: ['8.2.2', '9.0.1'], ids: ['CVE-2024-45813', 'GHSA-rrr8-f88r-h8q6'] },
  { package: 'find-my-way', mended: ['9.7.0'], ids: ['GHSA-c96f-x56v-gq3h'] },
  { package: 'fast-jwt', mended: ['3.3.2'], ids: ['CVE-2023-48223', 'GHSA-c2ff-88x2-x9pg'] },
  { package: 'fast-jwt', mended: ['5.0.6'], ids: ['CVE-2025-30144', 'GHSA-gm45-q3v2-6cf8'] },
  { package: 'fast-jwt', mended: ['6.2.0'], ids: ['CVE-2026-34950', 'GHSA-mvf2-f6gm-w987'] },
  { package: 'fast-jwt', mended: ['6.2.0'], ids: ['CVE-2026-35042', 'GHSA-hm7r-c7qw-ghp6'] },
  { package: 'fast-jwt', mended: ['6.2.4'], ids: ['CVE-2026-44351', 'GHSA-gmvf-9v4p-v8jc'] },
  { package: 'fast-uri', mended: ['3.1.1'], ids: ['CVE-2026-6321', 'GHSA-q3j6-qgpj-74h6'] },
  { package: 'fast-uri', mended: ['3.1.2'], ids: ['CVE-2026-6322', 'GHSA-v39h-62p7-jpjc'] },
  { package: 'fast-uri', mended: ['2.4.2', '3.1.3', '4.0.1'], ids: ['CVE-2026-13676', 'GHSA-4c8g-83qw-93j6'] },
  { package: 'fast-uri', mended: ['3.1.7', '4.1.4'], ids: ['CVE-2026-84292', 'CVE-2026-84394'] },
  { package: 'jose', mended: ['2.0.7', '4.15.5'], ids: ['CVE-2024-28176', 'GHSA-hhhv-q57g-882q'] },
  { package: 'ajv', mended: ['6.12.3', '7.0.0'], ids: ['CVE-2020-15366', 'GHSA-v88g-cgmw-v5xw'] },
  { package: 'ajv', mended: ['6.14.0', '8.18.0'], ids: ['CVE-2025-69873', 'GHSA-2g4f-4pwh-qvx6'] },
  { package: 'cookie', mended: ['0.7.0'], ids: ['CVE-2024-47764', 'GHSA-pxg6-pf52-xh8x'] },
  { package: 'pg', mended: ['7.1.2'], ids: ['CVE-2017-16082', 'GHSA-wc9v-mj63-m9g5'] },
  { package: 'bn.js', mended: ['4.12.3', '5.2.3'], ids: ['CVE-2026-2739', 'GHSA-378v-28hj-76wf'] },
  { package: 'brace-expansion', mended: ['1.1.13', '2.0.3', '5.0.5'], ids: ['CVE-2026-33750', 'GHSA-f886-m6hf-6m8v'] },
  { package: 'minimatch', mended: ['3.1.3', '9.0.7', '10.2.3'], ids: ['CVE-2026-26996', 'CVE-2026-27903'] },
  { package: 'glob', mended: ['10.5.0', '11.1.0'], ids: ['CVE-2025-64756', 'GHSA-5j98-mcp5-4vw2'] },
  { package: 'semver', mended: ['5.7.2', '6.3.1', '7.5.2'], ids: ['CVE-2022-25883', 'GHSA-c2qf-rxjj-qqgw'] },
  { package: 'yaml', mended: ['2.2.2'], ids: ['CVE-2023-2251', 'GHSA-f9xv-q969-pqx4'] },
  { package: 'y18n', mended: ['3.2.2', '4.0.1', '5.0.5'], ids: ['CVE-2020-7774', 'GHSA-c4w7-xm78-47vh'] },
  { package: 'yargs-parser', mended: ['13.1.2', '15.0.1', '18.1.1'], ids: ['CVE-2020-7608', 'GHSA-p9pc-299p-vxgp'] },
  { package: 'ansi-regex', mended: ['5.0.1', '6.0.1'], ids: ['CVE-2021-3807', 'GHSA-93q8-gq69-wqmw'] },
  { package: 'debug', mended: ['2.6.9', '3.1.0'], ids: ['CVE-2017-16137', 'GHSA-gxpj-cx7g-858c'] },
  { package: 'ms', mended: ['2.0.0'], ids: ['CVE-2017-20162', 'GHSA-w9mr-4mfr-499f'] },
  { package: 'forwarded', mended: ['0.1.2'], ids: ['CVE-2017-16118', 'GHSA-mpcf-4gmh-23w8'] },
]; // biome-ignore format: one advisory a line
