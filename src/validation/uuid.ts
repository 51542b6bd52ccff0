const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text is a UUID with hyphens, of any version and letter case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
