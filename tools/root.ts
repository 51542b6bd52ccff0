import { fileURLToPath } from 'node:url';

/** The root of the project, where package.json is; the same for a source file and for what is compiled from it. */
export const root = fileURLToPath(new URL('.', import.meta.resolve('#package.json')));
