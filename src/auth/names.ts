/**
 * Reads `name=value,name=value`. The value stands behind the last `=`, so a name may hold others.
 *
 * @param readValue undefined for a value that is none
 * @returns undefined when a pair is none, or a name stands twice
 */
export function readNames<Value>(
  text: string,
  readValue: (text: string) => Value | undefined,
): Map<string, Value> | undefined {
  const names = new Map<string, Value>();
  for (const pair of text === '' ? [] : text.split(',')) {
    const name = pair.slice(0, Math.max(0, pair.lastIndexOf('=')));
    const value = readValue(pair.slice(name.length + 1));
    if (name === '' || name.trim() !== name || value === undefined || names.has(name)) {
      return undefined;
    }
    names.set(name, value);
  }
  return names;
}
