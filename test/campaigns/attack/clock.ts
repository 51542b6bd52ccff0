import { randomBytes } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import type { Method } from '../../setup/send.js';
import type { TestService } from '../../setup/service.js';
import { randomOf } from '../random.js';
import { SEED } from './tally.js';

/** A request to measure: `id` is one of `ids`, mostly rows of south, or an id that does not exist. */
export interface Probe {
  title: string;
  method: Method;
  ids: string[];
  /** Ids that do not exist; by default beside those that do. */
  missing?: string[];
  path(id: string): string;
  body?(id: string): unknown;
  tenant?(id: string): string;
  code: string;
}

/** Times for existing ids, and for ids that do not exist. */
export interface Times {
  there: number[];
  missing: number[];
}

/** Measures a probe with both kinds of ids, after warm-up requests; calls `check` for each response. */
export type Clock = (
  probe: Probe,
  samples: number,
  check: (code: string, status: number) => void,
) => Promise<Times>;

/** Makes the service listen, and sends requests as one caller over one connection. */
export async function startClock(
  t: Test,
  service: TestService,
  { authorization, club, warm }: { authorization: string; club: string; warm: number },
): Promise<Clock> {
  /** An id with the same time prefix, which does not exist. */
  const beside = (id: string) => id.slice(0, -12) + randomBytes(6).toString('hex');
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = service.app.server.address() as AddressInfo;
  const random = randomOf(SEED);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());

  /** Sends a request over the connection; returns the time until the complete response, and its code. */
  function time(
    { method, path, body, tenant }: Probe,
    id: string,
  ): Promise<{ ns: number; code: string; status: number }> {
    const content = body === undefined ? undefined : JSON.stringify(body(id));
    const headers = {
      authorization,
      'x-tenant-id': tenant?.(id) ?? club,
      ...(content === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': content.length }),
    };
    return new Promise((resolve, reject) => {
      const request = httpRequest({ port, agent, method, path: path(id), headers });
      let began = 0n;
      request.on('error', reject).on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part) => {
          text += part;
        });
        response.on('end', () => {
          const ns = Number(process.hrtime.bigint() - began);
          resolve({ ns, code: JSON.parse(text).code ?? '', status: response.statusCode ?? 0 });
        });
      });
      began = process.hrtime.bigint();
      request.end(content);
    });
  }

  return async (probe, samples, check) => {
    const there: number[] = [];
    const missing: number[] = [];
    const measure = async (ids: string[], times: number[]) => {
      const { ns, code, status } = await time(probe, ids[Math.floor(random() * ids.length)] as string);
      times.push(ns);
      check(code, status);
    };
    const pairs = [
      [probe.ids, there],
      [probe.missing ?? probe.ids.map(beside), missing],
    ] as const;
    for (let turn = -warm; turn < samples; turn += 1) {
      // Alternating, so that changes of the machine affect both; and in random order, so that neither is
      // always the second one.
      for (const [ids, times] of random() < 0.5 ? pairs : [...pairs].reverse()) {
        await measure(ids, turn < 0 ? [] : times);
      }
    }
    return { there, missing };
  };
}
