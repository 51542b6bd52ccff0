/**
 * Parses `name=value,name=value`. The last `=` separates name and value, so a name may contain `=`.
 *
 * @param readValue returns undefined for an invalid value
 * @returns undefined when a pair is invalid or a name occurs twice
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
