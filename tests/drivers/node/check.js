'use strict';
// mysql2: text protocol (query), binary protocol (execute), TLS, zlib compression.

const fs = require('fs');
const os = require('os');
const path = require('path');
const { Readable } = require('stream');
const mysql = require('mysql2/promise');
const { target: t, check, finish, same, fails, bigText, columns, bound, canonical, wanted } = require('./suite');

const item = (i) => `größe 漢字 ${i} 🐬`;
const tls = { ssl: { rejectUnauthorized: false } };
const socket = { socketPath: t.socket, host: undefined, port: undefined };
let session;

function connect(more = {}) {
  const base = { host: t.host, port: t.port, user: t.user, password: t.password, database: t.db };
  return mysql.createConnection({
    ...base, dateStrings: true, supportBigNumbers: true, bigNumberStrings: true, timezone: 'Z', ...more,
  });
}

async function withConnection(more, body) {
  const connection = await connect(more);
  try {
    return await body(connection);
  } finally {
    connection.destroy();
  }
}

async function one(connection, sql, values) {
  const [rows] = await connection.query({ sql, values, rowsAsArray: true });
  return rows[0][0];
}

async function prepare() {
  await withConnection({ database: undefined }, async (c) => {
    await c.query(`DROP DATABASE IF EXISTS ${t.db}`);
    await c.query(`CREATE DATABASE ${t.db} CHARACTER SET utf8mb4`);
  });
  session = await connect();
  await session.query("SET time_zone = '+00:00'");
  await session.query('CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4 ENGINE=InnoDB');
  for (let i = 1; i <= 10; i += 1) await session.query('INSERT INTO items VALUES (?, ?)', [i, item(i)]);
}

function login(ciphered, compressed, more) {
  return withConnection(more, async (c) => {
    same(await one(c, "SELECT 'größe 🐬'"), 'größe 🐬', 'answer');
    if (!t.direct) return; // behind a proxy these describe the proxy's own link
    const status = async (name) => (await c.query(`SHOW SESSION STATUS LIKE '${name}'`))[0][0].Value;
    same((await status('Ssl_cipher')) !== '', ciphered, 'link is encrypted');
    same(await status('Compression'), compressed ? 'ON' : 'OFF', 'Compression');
  });
}

/** A user of whom nobody has a cached login: full authentication first, then what is quicker. */
async function loginNewUser(suffix, more) {
  const user = `${t.db}_${suffix}`;
  const password = 'pw-1 %x#y';
  await session.query(`DROP USER IF EXISTS '${user}'@'%'`);
  await session.query(`CREATE USER '${user}'@'%' IDENTIFIED BY '${password}'`);
  try {
    for (let i = 0; i < 3; i += 1) {
      await withConnection({ user, password, database: undefined, ...more }, async (c) => {
        same((await one(c, 'SELECT CURRENT_USER()')).split('@')[0], user, 'user');
      });
    }
  } finally {
    await session.query(`DROP USER '${user}'@'%'`);
  }
}

async function logins() {
  await check('login-plain', () => login(false, false));
  await check('login-new-user-plain', () => loginNewUser('p'));
  await check('login-compressed', () => login(false, true, { compress: true }));
  if (t.tls) {
    await check('login-tls', () => login(true, false, tls));
    await check('login-compressed-tls', () => login(true, true, { ...tls, compress: true }));
    await check('login-new-user-tls', () => loginNewUser('t', tls));
  }
  if (t.tls && t.ca) {
    await check('login-verify-ca', () => login(true, false, { ssl: { ca: fs.readFileSync(t.ca) } }));
  }
  if (t.socket) {
    await check('login-socket', () => login(false, false, socket));
    await check('login-new-user-socket', () => loginNewUser('s', socket));
  }
  await check('login-wrong-password', () => fails(1045, '28000', () => connect({ password: 'not the password' })));
  await check('login-unknown-schema', () => fails(1049, '42000', () => connect({ database: `${t.db}_missing` })));
}

async function types(method) {
  const cols = columns();
  const names = ['id', ...cols.map((c) => c.name)].join(', ');
  await session.query('DROP TABLE IF EXISTS types');
  await session.query(`CREATE TABLE types (id INT PRIMARY KEY, ${cols.map((c) => `${c.name} ${c.type} NULL`).join(', ')}) CHARACTER SET utf8mb4`);
  // VECTOR wants its bytes marked as binary, which the driver does not do in the text protocol.
  const mark = (c) => (c.name === 'c_vector' ? 'CAST(? AS BINARY)' : '?');
  for (let row = 0; row < 3; row += 1) {
    const values = cols.map((c) => (row < 2 ? bound(c.kind, c.values[row]) : null));
    await session[method](`INSERT INTO types (${names}) VALUES (?, ${cols.map(mark).join(', ')})`, [row + 1, ...values]);
  }
  const [rows] = await session[method]({ sql: `SELECT ${names} FROM types ORDER BY id`, rowsAsArray: true });
  same(rows.length, 3, 'rows');
  rows.forEach((row, number) => {
    same(row[0], number + 1, 'id');
    cols.forEach((c, i) => {
      const expected = number < 2 ? wanted(c.kind, c.values[number], c.type) : null;
      same(canonical(c.kind, row[i + 1]), expected, `row ${number + 1} ${c.name}`);
    });
  });
}

async function bigValue(method, more) {
  const text = bigText();
  await withConnection(more, async (c) => {
    await c.query('DROP TABLE IF EXISTS big');
    await c.query('CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT) CHARACTER SET utf8mb4');
    await c[method]('INSERT INTO big VALUES (?, ?)', [1, text]);
    same(await one(c, 'SELECT LENGTH(v) FROM big'), text.length, 'length at the server');
    const [rows] = await c[method]('SELECT v FROM big WHERE id = ?', [1]);
    same(rows[0].v === text, true, `the value that came back (${rows[0].v.length} characters)`);
  });
}

function loadText() {
  let text = '';
  for (let i = 1; i <= 20000; i += 1) text += `${i}\tgröße 漢字 🐬 ${i}\n`;
  return text;
}

function loadDataLocal(stream, more) {
  return withConnection(more, async (c) => {
    await c.query('DROP TABLE IF EXISTS loaded');
    await c.query('CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4');
    const [result] = await c.query({
      sql: "LOAD DATA LOCAL INFILE 'lines' INTO TABLE loaded CHARACTER SET utf8mb4", infileStreamFactory: stream,
    });
    same(result.affectedRows, 20000, 'affected rows');
    same(Number(await one(c, 'SELECT SUM(id) FROM loaded')), 200010000, 'sum');
    same(await one(c, "SELECT COUNT(*) FROM loaded WHERE name = CONCAT('größe 漢字 🐬 ', id)"), 20000, 'texts');
  });
}

async function loadFile(more) {
  const name = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'load-')), 'lines.tsv');
  fs.writeFileSync(name, loadText());
  try {
    await loadDataLocal(() => fs.createReadStream(name), more);
  } finally {
    fs.rmSync(path.dirname(name), { recursive: true });
  }
}

async function procedureResults() {
  await session.query('DROP PROCEDURE IF EXISTS several');
  await session.query(`CREATE PROCEDURE several(IN how_many INT)
    BEGIN
      SELECT id, name FROM items WHERE id <= how_many ORDER BY id;
      UPDATE items SET name = name WHERE id = 1;
      SELECT 'größe 🐬' AS word, how_many AS n;
    END`);
  for (const method of ['query', 'execute']) {
    const [sets] = await session[method]('CALL several(?)', [2]);
    same(sets.slice(0, 2), [[{ id: 1, name: item(1) }, { id: 2, name: item(2) }], [{ word: 'größe 🐬', n: 2 }]], method);
    same(sets.length, 3, 'two result sets and the OK of the call');
  }
}

function multiStatements() {
  return withConnection({ multipleStatements: true, rowsAsArray: true }, async (c) => {
    const [sets] = await c.query("SELECT 1; SELECT 'größe 🐬'; DO 0; SELECT id FROM items WHERE id < 3 ORDER BY id");
    same(sets.filter(Array.isArray).map(String), ['1', 'größe 🐬', '1,2'], 'result sets');
    same(sets.length, 4, 'answers');
    await fails(1146, '42S02', () => c.query('SELECT 1; SELECT * FROM no_such_table; SELECT 2'));
    same(await one(c, "SELECT 'after'"), 'after', 'the connection afterwards');
  });
}

function transaction() {
  return withConnection({}, async (other) => {
    const count = 'SELECT COUNT(*) FROM items WHERE id = 100';
    for (const [finisher, after] of [['rollback', 0], ['commit', 1]]) {
      await session.beginTransaction();
      await session.execute('INSERT INTO items VALUES (?, ?)', [100, 'in a transaction']);
      same(await one(other, count), 0, 'view of another session before the end');
      await session[finisher]();
      same(await one(other, count), after, `view of another session after ${finisher}`);
    }
    await session.query('DELETE FROM items WHERE id = 100');
  });
}

/** KILL QUERY from a second connection, with the thread id that the driver reports; README.md says why it is sent again. */
function cancelKill() {
  return withConnection({}, (victim) => withConnection({}, async (other) => {
    const query = `SELECT 1 AS cancel_me FROM ${t.db}.items`;
    const outcome = victim.query(`${query} WHERE id < 3 AND SLEEP(60)`).then((r) => r, (e) => e);
    const started = Date.now();
    while (!(await one(other, `SELECT COUNT(*) FROM ${t.processlist} WHERE INFO LIKE '${query}%'`))) {
      if (Date.now() - started > 40000) throw new Error('the query never showed up in the process list');
      await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
    let ended = false;
    const end = outcome.then(() => { ended = true; });
    while (!ended && Date.now() - started < 50000) {
      await other.query(`KILL QUERY ${victim.threadId}`);
      await Promise.race([end, new Promise((resolve) => { setTimeout(resolve, 1000); })]);
    }
    const error = await outcome;
    same([error.errno, error.sqlState], [1317, '70100'], `outcome ${error}`);
    same(Date.now() - started < 50000, true, 'cancelled within 50 s');
    same(await one(victim, "SELECT 'alive'"), 'alive', 'the cancelled connection');
  }));
}

/** The driver's own time limit gives the query up on the client's side. */
function cancelTimeout() {
  return withConnection({}, async (victim) => {
    const error = await victim.query({ sql: 'SELECT SLEEP(20)', timeout: 200 }).then(() => null, (e) => e);
    same(error && error.code, 'PROTOCOL_SEQUENCE_TIMEOUT', `error ${error}`);
  });
}

async function errors() {
  await fails(1062, '23000', () => session.query("INSERT INTO items VALUES (1, 'again')"));
  await fails(1064, '42000', () => session.query('SELEC 1'));
  await fails(1146, '42S02', () => session.execute('SELECT * FROM no_such_table WHERE id = ?', [1]));
  await fails(1062, '23000', () => session.execute('INSERT INTO items VALUES (?, ?)', [1, 'again']));
  await fails(1644, '45000', () => session.query("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'größe'"));
  same(await one(session, "SELECT 'after'"), 'after', 'the connection after errors');
}

async function changeUser() {
  const user = `${t.db}_c`;
  await session.query(`DROP USER IF EXISTS '${user}'@'%'`);
  await session.query(`CREATE USER '${user}'@'%' IDENTIFIED BY 'change-1'`);
  try {
    await withConnection({}, async (c) => {
      await c.query('SET @left = 5');
      await c.changeUser({ user, password: 'change-1', database: 'information_schema' });
      const [rows] = await c.query('SELECT CURRENT_USER() AS u, @left AS v, DATABASE() AS d');
      same([rows[0].u.split('@')[0], rows[0].v, rows[0].d], [user, null, 'information_schema'], 'session after the change');
      await c.changeUser({ user: t.user, password: t.password, database: t.db });
      same(await one(c, 'SELECT DATABASE()'), t.db, 'schema');
    });
  } finally {
    await session.query(`DROP USER '${user}'@'%'`);
  }
}

async function stream() {
  let rows = 0;
  const source = session.connection.query('SELECT a.id, a.name FROM items a, items b, items c, items d, items e').stream();
  for await (const row of source) rows += row.name.length > 8 ? 1 : 0;
  same(rows, 100000, 'rows');
}

async function pipelined() {
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => session.execute('SELECT ? AS v', [String(i)])));
  same(answers.map(([r]) => Number(r[0].v)), Array.from({ length: 200 }, (_, i) => i), 'answers in order');
}

async function reconnects(more) {
  for (let i = 0; i < 50; i += 1) {
    const c = await connect(more);
    same(await one(c, 'SELECT ?', [i]), i, 'answer');
    await c.end();
  }
}

async function main() {
  await check('prepare', prepare);
  await logins();
  await check('types-text', () => types('query'));
  await check('types-prepared', () => types('execute'));
  await check('big-value', () => bigValue('query'));
  await check('big-value-prepared', () => bigValue('execute'));
  await check('big-value-compressed', () => bigValue('query', { compress: true }));
  if (t.tls) await check('big-value-tls', () => bigValue('query', tls));
  await check('load-data-local', () => loadFile());
  await check('load-data-local-compressed', () => loadFile({ compress: true }));
  await check('load-data-local-stream', () => loadDataLocal(() => Readable.from([Buffer.from(loadText())])));
  await check('procedure-results', procedureResults);
  await check('multi-statements', multiStatements);
  await check('transaction', transaction);
  await check('cancel-kill-query', cancelKill);
  await check('cancel-timeout', cancelTimeout);
  await check('errors', errors);
  await check('change-user', changeUser);
  await check('stream', stream);
  await check('pipelined', pipelined);
  await check('reconnects', () => reconnects());
  if (t.tls) await check('reconnects-tls', () => reconnects(tls));
  finish();
}

main();
