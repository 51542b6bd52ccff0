import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createBrotliDecompress } from 'node:zlib';
import type { Test } from 'tap';
import { root } from '../../tools/root.js';
import { HANG_MS, until } from './wait.js';

const FLAGS = [
  '--headless',
  // It shows only pages of this project, and root cannot start it with a sandbox.
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Its other threads take time from the tests that run beside it.
  '--js-flags=--single-threaded',
  '--remote-debugging-pipe',
];

/** A page of a browser, with its requested addresses and its console errors. */
export interface Page {
  requests: string[];
  complaints: string[];
  /** Evaluates an expression in the page; returns its value. */
  evaluate<Value>(expression: string): Promise<Value>;
  /** Waits until an expression in the page is truthy and returns its value; fails after a time-out. */
  until(expression: string, isHopeless?: () => boolean): Promise<unknown>;
  /** Clicks the first matching element with mouse events. */
  click(selector: string): Promise<void>;
  /** Presses a key on the focused element. */
  press(key: 'Tab' | 'Enter' | 'Escape'): Promise<void>;
  /** Sets the page's size in pixels, and light or dark mode. */
  show(width: number, height: number, scheme: 'light' | 'dark'): Promise<void>;
  reload(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: the protocol has messages of many shapes
type Message = any;

export interface Browser {
  /** Opens a page in a new tab. */
  open(url: string): Promise<Page>;
}

/** The options of a test that needs the browser. */
export const needs = (browser: Browser | undefined) =>
  browser === undefined ? { skip: 'Chromium is missing; install chromium' } : {};

/** Starts Chromium, controlled over a pipe; it ends with the test. Undefined where there is none. */
export async function startBrowser(t: Test): Promise<Browser | undefined> {
  const program = await findChromium();
  if (program === undefined) {
    return undefined;
  }
  const profile = await mkdtemp(join(tmpdir(), 'club-browser-'));
  // Its own process group, so that no process stays.
  const child = spawn(program.path, [...FLAGS, `--user-data-dir=${profile}`], {
    detached: true,
    env: {
      PATH: process.env.PATH,
      HOME: profile,
      ...(program.libraries && { LD_LIBRARY_PATH: program.libraries }),
    },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      process.kill(-(child.pid as number), 'SIGKILL');
    }
    await ended;
    await rm(profile, { recursive: true, force: true, maxRetries: 10 });
  });

  const input = child.stdio[3] as Writable;
  const waiting = new Map<number, { resolve(result: Message): void; reject(error: Error): void }>();
  const listeners: ((method: string, params: Message) => void)[] = [];
  read(child.stdio[4] as Readable, ({ id, method, params, result, error }) => {
    const pending = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined) {
      pending?.reject(new Error(error.message));
    }
    pending?.resolve(result);
    for (const listener of id === undefined ? listeners : []) {
      listener(method, params);
    }
  });
  let count = 0;
  const send = (method: string, params: object = {}, sessionId?: string): Promise<Message> =>
    new Promise((resolve, reject) => {
      count += 1;
      waiting.set(count, { resolve, reject });
      input.write(`${JSON.stringify({ id: count, method, params, sessionId })}\0`);
    });

  const open: Browser['open'] = async (url) => {
    const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
    const call = (method: string, params?: object) => send(method, params, sessionId);
    const requests: string[] = [];
    const complaints: string[] = [];
    listeners.push((method, params) => {
      if (method === 'Network.requestWillBeSent') {
        requests.push(params.request.url);
      }
      complaints.push(...complaintsOf(method, params));
    });
    for (const domain of ['Page', 'Network', 'Runtime', 'Log', 'Audits']) {
      await call(`${domain}.enable`);
    }
    const evaluate: Page['evaluate'] = async (expression) => {
      const { result, exceptionDetails } = await call('Runtime.evaluate', {
        expression,
        awaitPromise: true,
        returnByValue: true,
      });
      if (exceptionDetails !== undefined) {
        throw new Error(`${exceptionDetails.exception?.description} in ${expression}`);
      }
      return result.value;
    };
    const untilTrue: Page['until'] = async (expression, isHopeless = () => false) => {
      const found = await until(
        () => evaluate(expression),
        (value) => Boolean(value) || isHopeless(),
        { everyMs: 50, forMs: HANG_MS },
      );
      if (found) {
        return found;
      }
      throw new Error(`This did not come true: ${expression}. ${complaints.join(' ')}`);
    };
    const click: Page['click'] = async (selector) => {
      // When it does not move and nothing covers it; a click on a moving element can miss it.
      const find = `(async () => {
        const element = document.querySelector(${JSON.stringify(selector)});
        element?.scrollIntoView({ block: 'center', behavior: 'instant' });
        const place = () => {
          const { x, y, width, height } = element.getBoundingClientRect();
          return [x + width / 2, y + height / 2];
        };
        const before = element && place();
        await new Promise((resolve) => setTimeout(resolve, 50));
        const isStill = element && String(place()) === String(before);
        return isStill && element.contains(document.elementFromPoint(...before)) ? before : null;
      })()`;
      const [x, y] = (await untilTrue(find)) as [number, number];
      for (const type of ['mousePressed', 'mouseReleased']) {
        await call('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
      }
    };
    const press: Page['press'] = async (key) => {
      const code = { Tab: 9, Enter: 13, Escape: 27 }[key];
      const event = { key, code: key, windowsVirtualKeyCode: code, ...(key === 'Enter' && { text: '\r' }) };
      for (const type of ['keyDown', 'keyUp']) {
        await call('Input.dispatchKeyEvent', { type, ...event });
      }
    };
    const show: Page['show'] = async (width, height, scheme) => {
      const mobile = width < 600;
      await call('Emulation.setDeviceMetricsOverride', { width, height, mobile, deviceScaleFactor: 1 });
      const features = [{ name: 'prefers-color-scheme', value: scheme }];
      await call('Emulation.setEmulatedMedia', { features });
    };
    const reload = () => call('Page.navigate', { url });
    await reload();
    return { requests, complaints, evaluate, until: untilTrue, click, press, show, reload };
  };
  return { open };
}

/** Messages end with a NUL, and chunks can split them anywhere. */
function read(output: Readable, take: (message: Message) => void): void {
  let rest = '';
  output.setEncoding('utf8');
  output.on('data', (piece: string) => {
    const messages = (rest + piece).split('\0');
    rest = messages.pop() ?? '';
    for (const message of messages) {
      take(JSON.parse(message));
    }
  });
}

function complaintsOf(method: string, params: Message): string[] {
  if (method === 'Runtime.exceptionThrown') {
    return [params.exceptionDetails.exception?.description ?? params.exceptionDetails.text];
  }
  if (method === 'Runtime.consoleAPICalled' && ['error', 'assert'].includes(params.type)) {
    return [JSON.stringify(params.args)];
  }
  if (method === 'Log.entryAdded' && params.entry.level === 'error') {
    return [`${params.entry.text} ${params.entry.url ?? ''}`];
  }
  const isViolation = method === 'Audits.issueAdded' && params.issue.code === 'ContentSecurityPolicyIssue';
  return isViolation ? [JSON.stringify(params.issue.details.contentSecurityPolicyIssueDetails)] : [];
}

interface Program {
  path: string;
  /** The folder of its libraries, if not the system's. */
  libraries?: string;
}

/** The system's, or the npm package's, which is built for Linux on x64 only. */
async function findChromium(): Promise<Program | undefined> {
  const directories = (process.env.PATH ?? '').split(delimiter);
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const paths = directories.flatMap((directory) => names.map((name) => join(directory, name)));
  for (const path of [...paths, '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome']) {
    if (await isExecutable(path)) {
      return { path };
    }
  }
  return process.platform === 'linux' && process.arch === 'x64' ? unpackChromium() : undefined;
}

/** The Chromium of the npm package, with libraries that a minimal system lacks, unpacked once beside the packages. */
async function unpackChromium(): Promise<Program> {
  const packed = join(root, 'node_modules/@sparticuz/chromium/bin');
  const folder = join(root, 'node_modules/.cache/chromium-of-npm');
  const program = { path: join(folder, 'chromium'), libraries: join(folder, 'lib') };
  if (!(await isExecutable(program.path))) {
    const unfinished = `${folder}.${process.pid}`;
    await mkdir(unfinished, { recursive: true });
    for (const [name, file] of [
      ['chromium.br', 'chromium'],
      ['al2023.tar.br', 'lib.tar'],
    ] as const) {
      const target = createWriteStream(join(unfinished, file), { mode: 0o755 });
      await pipeline(createReadStream(join(packed, name)), createBrotliDecompress(), target);
    }
    await promisify(execFile)('tar', ['-xf', 'lib.tar'], { cwd: unfinished });
    // Another test may have unpacked it meanwhile.
    await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
  }
  return program;
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
