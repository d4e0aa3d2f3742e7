'use strict';
// The target, the reporting and the test data of the checks of mysql2.

const fs = require('fs');
const path = require('path');

const env = process.env;
const target = {
  host: env.WEIR_HOST,
  port: Number(env.WEIR_PORT),
  socket: env.WEIR_SOCKET,
  user: env.WEIR_USER,
  password: env.WEIR_PASSWORD,
  db: env.WEIR_DB,
  family: env.WEIR_FAMILY,
  ca: env.WEIR_CA,
  direct: env.WEIR_VIA !== 'weir',
  tls: env.WEIR_TLS !== '0',
  processlist: env.WEIR_FAMILY === 'mysql' ? 'performance_schema.processlist' : 'information_schema.processlist',
};

let passed = 0;
let failed = 0;

async function check(name, body) {
  try {
    await body();
    passed += 1;
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}: ${String(error && error.stack).replace(/\s+/g, ' ').slice(0, 600)}`);
  }
}

function finish() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed || !passed ? 1 : 0);
}

function same(got, wanted, what) {
  const show = (v) => (typeof v === 'string' ? v : JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? `${x}n` : x)));
  if (show(got) !== show(wanted)) {
    throw new Error(`${what}: got ${String(show(got)).slice(0, 250)}, wanted ${String(show(wanted)).slice(0, 250)}`);
  }
}

/** Runs `body`, which must fail with this error number and SQLSTATE. */
async function fails(number, state, body) {
  let result;
  try {
    result = await body();
  } catch (error) {
    same([error.errno, error.sqlState], [number, state], `error ${error.message}`);
    return;
  }
  throw new Error(`error ${number} expected, got ${JSON.stringify(result).slice(0, 200)}`);
}

function bigText() {
  const lines = new Array((20 * 1024 * 1024) / 8);
  for (let i = 0; i < lines.length; i += 1) lines[i] = String(i).padStart(7, '0');
  return `${lines.join('\n')}\n`;
}

function columns() {
  const all = JSON.parse(fs.readFileSync(path.join(env.WEIR_DRIVERS, 'types.json'), 'utf8'));
  return all.filter((c) => !c.family || c.family === target.family);
}

/** The value that a program would bind. Numbers beyond 2^53 travel as text. */
function bound(kind, text) {
  switch (kind) {
    case 'int':
    case 'year':
      return Number.isSafeInteger(Number(text)) ? Number(text) : text;
    case 'bit': {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64BE(BigInt(text));
      let from = 0;
      while (from < 7 && bytes[from] === 0) from += 1;
      return bytes.subarray(from);
    }
    case 'float':
      return Number(text);
    case 'bytes':
      return Buffer.from(text, 'hex');
    default:
      return text;
  }
}

function canonical(kind, value) {
  // The text protocol of mysql2 makes an empty array of a VECTOR that is NULL.
  if (value === null || (kind === 'bytes' && Array.isArray(value) && value.length === 0)) return null;
  switch (kind) {
    case 'bit':
      return BigInt(`0x${value.toString('hex')}`).toString();
    case 'bytes':
      return bytesOf(value).toString('hex');
    case 'float':
      return String(Number(value));
    case 'json':
      return JSON.stringify(typeof value === 'string' ? JSON.parse(value) : value);
    case 'time':
    case 'datetime': {
      const [whole, fraction = ''] = String(value).split('.');
      return `${whole}.${fraction.padEnd(6, '0')}`;
    }
    default:
      return String(value);
  }
}

/** mysql2 decodes a POINT to {x, y} (without its SRID) and a VECTOR to an array of numbers. */
function bytesOf(value) {
  if (Buffer.isBuffer(value)) return value;
  if (Array.isArray(value)) return Buffer.from(new Float32Array(value).buffer);
  const bytes = Buffer.alloc(16);
  bytes.writeDoubleLE(value.x, 0);
  bytes.writeDoubleLE(value.y, 8);
  return bytes;
}

function wanted(kind, text, type) {
  if (type === 'GEOMETRY' || type === 'POINT') return text.slice(18);
  return kind === 'bit' || kind === 'bytes' ? text : canonical(kind, text);
}

module.exports = { target, check, finish, same, fails, bigText, columns, bound, canonical, wanted };
