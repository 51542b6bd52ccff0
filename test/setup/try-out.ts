/** “Try it out” on the reference page. */
import type { Page } from './browser.js';
import { until } from './wait.js';

const CLICKS = 10;
const PATIENCE_MS = 10_000;

/** The status of the response that the page shows. */
export const statusOf = (operation: string) =>
  `${operation} .live-responses-table tbody .response-col_status`;

export const element = (selector: string) => `document.querySelector(${JSON.stringify(selector)})`;
export const isThere = (selector: string) => `${element(selector)} !== null`;

/** Opens an operation, so that it can be sent. */
export async function openOperation(page: Page, operation: string): Promise<void> {
  await clickFor(page, `${operation} .opblock-summary-control`, `${operation} .try-out__btn`);
  await clickFor(page, `${operation} .try-out__btn`, `${operation} .execute`);
}

/** Opens an operation and sends it with its defaults; returns the status. */
export async function tryOut(page: Page, operation: string): Promise<string> {
  await openOperation(page, operation);
  await page.click(`${operation} .execute`);
  return shownStatus(page, operation);
}

/** Clicks until an element is there. On a slow machine the page can move between the check and the click. */
async function clickFor(page: Page, selector: string, expected: string): Promise<void> {
  const isShown = () => page.evaluate(isThere(expected));
  for (let clicks = 0; !(await isShown()); clicks += 1) {
    if (clicks === CLICKS) {
      throw new Error(`${CLICKS} clicks on ${selector} did not show ${expected}.`);
    }
    await page.click(selector);
    await until(isShown, Boolean, { everyMs: 50, forMs: PATIENCE_MS });
  }
}

/** Sends the open operation again; returns the status. */
export async function tryAgain(page: Page, operation: string): Promise<string> {
  await page.click(`${operation} .btn-clear`);
  await page.until(`${element(statusOf(operation))} === null`);
  await page.click(`${operation} .execute`);
  return shownStatus(page, operation);
}

/** Waits for a response; returns its status. */
export async function shownStatus(page: Page, operation: string): Promise<string> {
  await page.until(isThere(statusOf(operation)));
  return page.evaluate(`${element(statusOf(operation))}.innerText.trim()`);
}
