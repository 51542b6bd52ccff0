/** A UUID with hyphens, of any version and letter case, as a regular expression. */
export const UUID_PATTERN = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';

const UUID = new RegExp(`^${UUID_PATTERN}$`);

/** Whether the text is a UUID. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
