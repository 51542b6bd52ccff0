/** “Try it out” on the reference page. */
import type { Page } from './browser.js';

/** The status of the answer that the page shows. */
export const statusOf = (operation: string) =>
  `${operation} .live-responses-table tbody .response-col_status`;

export const element = (selector: string) => `document.querySelector(${JSON.stringify(selector)})`;
export const isThere = (selector: string) => `${element(selector)} !== null`;

/** Opens an operation and sends it with its defaults; returns the status. */
export async function tryOut(page: Page, operation: string): Promise<string> {
  await page.click(`${operation} .opblock-summary-control`);
  await page.click(`${operation} .try-out__btn`);
  await page.click(`${operation} .execute`);
  return shownStatus(page, operation);
}

/** Sends the open operation again; returns the status. */
export async function tryAgain(page: Page, operation: string): Promise<string> {
  await page.click(`${operation} .btn-clear`);
  await page.until(`${element(statusOf(operation))} === null`);
  await page.click(`${operation} .execute`);
  return shownStatus(page, operation);
}

/** Waits for an answer; returns its status. */
export async function shownStatus(page: Page, operation: string): Promise<string> {
  await page.until(isThere(statusOf(operation)));
  return page.evaluate(`${element(statusOf(operation))}.innerText.trim()`);
}
