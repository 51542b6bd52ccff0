import { ALGORITHMS } from '../../../setup/issuer.js';
import type { Attempt, Target } from './target.js';

/** The group orders of P-256 and of Ed25519. */
const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

const read = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex') || '0'}`);
const write = (value: bigint, length = 32): Buffer =>
  Buffer.from(
    value
      .toString(16)
      .padStart(length * 2, '0')
      .slice(-length * 2),
    'hex',
  );
const reversed = (bytes: Buffer): Buffer => Buffer.from(bytes).reverse();

/** Invalid signatures, or valid ones in another format. */
export function signatures({ provider, admin }: Target): Attempt[] {
  const claims = JSON.parse(Buffer.from(admin().split('.')[1] as string, 'base64url').toString());
  return ALGORITHMS.flatMap((by) => {
    const token = provider.sign(claims, { by });
    const input = token.slice(0, token.lastIndexOf('.'));
    const signature = Buffer.from(token.slice(input.length + 1), 'base64url');
    const other = Buffer.from(
      provider.sign({ ...claims, sub: 'ben' }, { by }).split('.')[2] as string,
      'base64url',
    );
    const special = { ES256: ofCurve, EdDSA: ofEdwards, RS256: ofRsa, PS256: ofRsa }[by](signature, provider);
    const lengths = [0, 1, 2, 31, 32, 33, 48, 63, 64, 65, 66, 70, 72, 96, 127, 128, 132, 255, 256, 257, 512];
    return [
      ...lengths.flatMap((length) => [0x00, 0xff, 0x01, 0x30].map((fill) => Buffer.alloc(length, fill))),
      ...lengths.filter((length) => length < signature.length).map((length) => signature.subarray(0, length)),
      ...[
        other,
        reversed(signature),
        Buffer.concat([signature, signature]),
        Buffer.from(signature.map((byte) => ~byte)),
      ],
      ...[Buffer.concat([Buffer.alloc(1), signature]), Buffer.concat([signature, Buffer.alloc(1)])],
      ...special,
    ].map((bytes, index) => ({
      fault: `signature ${index} of ${by}`,
      token: `${input}.${bytes.toString('base64url')}`,
    }));
  });
}

/** ECDSA: as DER, out of range (CVE-2022-21449), the parts swapped. */
function ofCurve(signature: Buffer): Buffer[] {
  const [r, s] = [read(signature.subarray(0, 32)), read(signature.subarray(32))];
  const edges = [0n, 1n, 2n, N - 1n, N, N + 1n, 2n ** 256n - 1n, r, s];
  const pairs = edges.flatMap((first) => edges.map((second) => [first, second] as const));
  const der = (...numbers: bigint[]) => {
    const body = Buffer.concat(
      numbers.map((number) => {
        const hex = number.toString(16);
        const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex');
        const padded = (bytes[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes;
        return Buffer.concat([Buffer.from([0x02, padded.length]), padded]);
      }),
    );
    return Buffer.concat([Buffer.from([0x30, body.length]), body]);
  };
  return [
    ...pairs
      .filter(([first, second]) => first !== r || second !== s)
      .map(([first, second]) => Buffer.concat([write(first), write(second)])),
    ...pairs.map(([first, second]) => der(first, second)),
    Buffer.concat([write(r, 48), write(s, 48)]),
    Buffer.concat([write(r, 66), write(s, 66)]),
  ];
}

/** EdDSA: the scalar beyond the group's order (RFC 8032, 5.1.7), and points of small order. */
function ofEdwards(signature: Buffer): Buffer[] {
  const [point, scalar] = [signature.subarray(0, 32), read(reversed(signature.subarray(32)))];
  const scalars = [0n, 1n, L, scalar + L, scalar + 2n * L, L - scalar, 2n ** 255n + scalar, L - 1n];
  const points = ['00', '01', 'ec'].map((first) =>
    Buffer.from(`${first}${first === 'ec' ? `${'ff'.repeat(30)}7f` : '00'.repeat(31)}`, 'hex'),
  );
  return [point, ...points].flatMap((first) =>
    scalars.map((second) => Buffer.concat([first, reversed(write(second))])),
  );
}

/** RSA: numbers that are their own power, and a signature with another padding. */
function ofRsa(signature: Buffer, provider: Target['provider']): Buffer[] {
  const n = read(Buffer.from(String(provider.keys.RS256.publicKey.export({ format: 'jwk' }).n), 'base64url'));
  const s = read(signature);
  return [0n, 1n, 2n, n - 1n, n, n + 1n, n - s, (s * 2n) % n]
    .map((number) => write(number, 256))
    .concat([write(s + n, 257), write(s, 512)]);
}

/** The second form (r, n − s) of an ECDSA signature, which anybody can compute and which is valid too. */
export function twinOf(token: string): string {
  const end = token.lastIndexOf('.') + 1;
  const signature = Buffer.from(token.slice(end), 'base64url');
  const twin = Buffer.concat([signature.subarray(0, 32), write(N - read(signature.subarray(32)))]);
  return token.slice(0, end) + twin.toString('base64url');
}
