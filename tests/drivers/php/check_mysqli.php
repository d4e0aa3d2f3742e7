<?php
// PHP's mysqli over mysqlnd.

require __DIR__ . '/suite.php';
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$t = new Target();
$session = null;

function connect(array $o = []): mysqli
{
    global $t;
    $m = mysqli_init();
    $m->options(MYSQLI_OPT_LOCAL_INFILE, 1);
    $flags = $o['flags'] ?? 0;
    if (isset($o['tls'])) {
        $flags |= MYSQLI_CLIENT_SSL | ($o['tls'] === 'verify' ? MYSQLI_CLIENT_SSL_VERIFY_SERVER_CERT : MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT);
        $m->ssl_set(null, null, $o['tls'] === 'verify' ? $t->ca : null, null, null);
    }
    $socket = $o['socket'] ?? null;
    $m->real_connect(
        $socket ? 'localhost' : $t->host, $o['user'] ?? $t->user, $o['password'] ?? $t->password,
        array_key_exists('db', $o) ? $o['db'] : $t->db, $socket ? 0 : $t->port, $socket ?? '', $flags
    );
    $m->set_charset('utf8mb4');
    return $m;
}

function one(mysqli $m, string $sql): mixed
{
    $row = $m->query($sql)->fetch_row();
    return end($row);
}

/** The exception of a failed login has no SQLSTATE (mysqli reports HY000), so $state is null there. */
function fails(int $number, ?string $state, callable $body): void
{
    try {
        $body();
    } catch (mysqli_sql_exception $e) {
        same([$e->getCode(), $state ? $e->getSqlState() : null], [$number, $state], "error {$e->getMessage()}");
        return;
    }
    throw new Exception("error $number expected");
}

function prepareSchema(): void
{
    global $t, $session;
    $m = connect(['db' => null]);
    $m->query("DROP DATABASE IF EXISTS $t->db");
    $m->query("CREATE DATABASE $t->db CHARACTER SET utf8mb4");
    $m->close();
    $session = connect();
    $session->query("SET time_zone = '+00:00'");
    $session->query('CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4 ENGINE=InnoDB');
    for ($i = 1; $i <= 10; $i++) {
        $session->execute_query('INSERT INTO items VALUES (?, ?)', [$i, item($i)]);
    }
}

function login(bool $ciphered, bool $compressed, array $options = []): void
{
    global $t;
    $m = connect($options);
    same(one($m, "SELECT 'größe 🐬'"), 'größe 🐬', 'answer');
    if ($t->direct) { // behind a proxy these describe the proxy's own link
        same(one($m, "SHOW SESSION STATUS LIKE 'Ssl_cipher'") !== '', $ciphered, 'link is encrypted');
        same(one($m, "SHOW SESSION STATUS LIKE 'Compression'"), $compressed ? 'ON' : 'OFF', 'Compression');
    }
    $m->close();
}

/** A user of whom nobody has a cached login: full authentication first, then what is quicker. */
function loginNewUser(string $suffix, array $options = []): void
{
    global $t, $session;
    $user = "{$t->db}_$suffix";
    $session->query("DROP USER IF EXISTS '$user'@'%'");
    $session->query("CREATE USER '$user'@'%' IDENTIFIED BY 'pw-1 %x#y'");
    try {
        for ($i = 0; $i < 3; $i++) {
            $m = connect(['user' => $user, 'password' => 'pw-1 %x#y', 'db' => null] + $options);
            same(explode('@', one($m, 'SELECT CURRENT_USER()'))[0], $user, 'user');
            $m->close();
        }
    } finally {
        $session->query("DROP USER '$user'@'%'");
    }
}

function logins(): void
{
    global $t;
    Suite::check('login-plain', fn () => login(false, false));
    Suite::check('login-new-user-plain', fn () => loginNewUser('p'));
    Suite::check('login-compressed', fn () => login(false, true, ['flags' => MYSQLI_CLIENT_COMPRESS]));
    if ($t->tls) {
        Suite::check('login-tls', fn () => login(true, false, ['tls' => 'on']));
        Suite::check('login-compressed-tls', fn () => login(true, true, ['tls' => 'on', 'flags' => MYSQLI_CLIENT_COMPRESS]));
        Suite::check('login-new-user-tls', fn () => loginNewUser('t', ['tls' => 'on']));
    }
    // mysqlnd verifies the host name along with the certificate or nothing at all.
    if ($t->tls && $t->ca && $t->caNamesHost) {
        Suite::check('login-verify-identity', fn () => login(true, false, ['tls' => 'verify']));
    }
    if ($t->socket) {
        Suite::check('login-socket', fn () => login(false, false, ['socket' => $t->socket]));
        Suite::check('login-new-user-socket', fn () => loginNewUser('s', ['socket' => $t->socket]));
    }
    Suite::check('login-wrong-password', fn () => fails(1045, null, fn () => connect(['password' => 'not the password'])));
    Suite::check('login-unknown-schema', fn () => fails(1049, null, fn () => connect(['db' => "{$t->db}_missing"])));
}

function typesPrepared(): void
{
    global $t, $session;
    // mysqlnd refuses a binary row with a VECTOR, a type it does not know.
    $columns = columns($t->family, ['c_vector']);
    $names = implode(', ', array_merge(['id'], array_column($columns, 'name')));
    $session->query('DROP TABLE IF EXISTS types');
    $session->query(createTypes($columns));
    $insert = $session->prepare("INSERT INTO types ($names) VALUES (?" . str_repeat(', ?', count($columns)) . ')');
    $kinds = 'i' . implode('', array_map(fn ($c) => match ($c->kind) { 'int', 'year' => 'i', 'float' => 'd', default => 's' }, $columns));
    for ($row = 0; $row < 3; $row++) {
        $values = array_map(fn ($c) => bound($c, $row < 2 ? $c->values[$row] : null), $columns);
        $insert->bind_param($kinds, ...array_merge([$row + 1], $values));
        $insert->execute();
        same($insert->affected_rows, 1, 'affected rows');
    }
    $insert->close();
    compareTypes($columns, $session->execute_query("SELECT $names FROM types WHERE id > ? ORDER BY id", [0])->fetch_all());
}

function typesText(): void
{
    global $t, $session;
    $columns = columns($t->family, ['c_vector']);
    $names = implode(', ', array_merge(['id'], array_column($columns, 'name')));
    $session->query('DROP TABLE IF EXISTS types');
    $session->query(createTypes($columns));
    for ($row = 0; $row < 3; $row++) {
        $values = array_map(function ($c) use ($row, $session) {
            if ($row === 2) {
                return 'NULL';
            }
            $text = $c->values[$row];
            return match ($c->kind) {
                'bytes', 'bit' => $c->kind === 'bytes' ? "x'$text'" : $text,
                'int', 'uint', 'year', 'decimal', 'float' => $text,
                default => "'" . $session->real_escape_string($text) . "'",
            };
        }, $columns);
        $session->query("INSERT INTO types ($names) VALUES (" . ($row + 1) . ', ' . implode(', ', $values) . ')');
    }
    compareTypes($columns, $session->query("SELECT $names FROM types ORDER BY id")->fetch_all());
}

function bigValue(bool $prepared, array $options = []): void
{
    $m = connect($options);
    $text = bigText();
    $m->query('DROP TABLE IF EXISTS big');
    $m->query('CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT) CHARACTER SET utf8mb4');
    if ($prepared) {
        // COM_STMT_SEND_LONG_DATA in pieces, and the whole in COM_STMT_EXECUTE.
        $s = $m->prepare('INSERT INTO big VALUES (?, ?)');
        $id = 1;
        $none = null;
        $s->bind_param('ib', $id, $none);
        foreach (str_split($text, 1 << 20) as $piece) {
            $s->send_long_data(1, $piece);
        }
        $s->execute();
        $m->execute_query('UPDATE big SET v = ? WHERE v = ?', [$text, $text]);
        $got = $m->execute_query('SELECT v FROM big WHERE id = ?', [1])->fetch_row()[0];
    } else {
        $m->query("INSERT INTO big VALUES (1, '" . $m->real_escape_string($text) . "')");
        $got = $m->query('SELECT v FROM big')->fetch_row()[0];
    }
    same((int) one($m, 'SELECT LENGTH(v) FROM big'), strlen($text), 'length at the server');
    same($got === $text, true, 'the value that came back');
    $m->close();
}

function loadDataLocal(array $options = []): void
{
    $file = loadFile();
    $m = connect($options);
    try {
        $m->query('DROP TABLE IF EXISTS loaded');
        $m->query('CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4');
        $m->query("LOAD DATA LOCAL INFILE '$file' INTO TABLE loaded CHARACTER SET utf8mb4");
        same($m->affected_rows, 20000, 'affected rows');
        same(one($m, 'SELECT SUM(id) FROM loaded'), '200010000', 'sum');
        same(one($m, "SELECT COUNT(*) FROM loaded WHERE name = CONCAT('größe 漢字 🐬 ', id)"), '20000', 'texts');
    } finally {
        unlink($file);
        $m->close();
    }
}

/** All result sets of a multi query as rows; answers without columns are left out. */
function sets(mysqli $m): array
{
    $sets = [];
    do {
        $result = $m->store_result();
        if ($result) {
            $sets[] = $result->fetch_all();
        }
    } while ($m->more_results() && $m->next_result());
    return $sets;
}

function procedureResults(): void
{
    global $session;
    $session->query('DROP PROCEDURE IF EXISTS several');
    $session->query(PROCEDURE);
    $session->multi_query('CALL several(2)');
    same(sets($session), [[['1', item(1)], ['2', item(2)]], [['größe 🐬', '2']]], 'result sets');
    $s = $session->prepare('CALL several(?)');
    $s->execute([2]);
    $sets = [];
    do {
        $result = $s->get_result();
        if ($result) {
            $sets[] = $result->fetch_all();
        }
    } while ($s->more_results() && $s->next_result());
    $s->close();
    same($sets, [[[1, item(1)], [2, item(2)]], [['größe 🐬', 2]]], 'result sets of the prepared call');
}

function multiStatements(): void
{
    global $session;
    $session->multi_query("SELECT 1; SELECT 'größe 🐬'; DO 0; SELECT id FROM items WHERE id < 3 ORDER BY id");
    same(sets($session), [[['1']], [['größe 🐬']], [['1'], ['2']]], 'result sets');
    fails(1146, '42S02', function () use ($session) {
        $session->multi_query('SELECT 1; SELECT * FROM no_such_table; SELECT 2');
        sets($session);
    });
    same(one($session, "SELECT 'after'"), 'after', 'the connection afterwards');
}

function transaction(): void
{
    global $session;
    $other = connect();
    foreach (['rollback' => '0', 'commit' => '1'] as $finish => $wanted) {
        $session->begin_transaction();
        $session->execute_query('INSERT INTO items VALUES (?, ?)', [100, 'in a transaction']);
        same(one($other, 'SELECT COUNT(*) FROM items WHERE id = 100'), '0', 'view of another session before the end');
        $session->$finish();
        same(one($other, 'SELECT COUNT(*) FROM items WHERE id = 100'), $wanted, "view of another session after $finish");
    }
    $session->query('DELETE FROM items WHERE id = 100');
    $other->close();
}

/** KILL QUERY from a second connection, with the thread id that the driver reports; README.md says why it is sent again. */
function cancel(): void
{
    global $t;
    [$victim, $other] = [connect(), connect()];
    $query = "SELECT 1 AS cancel_me FROM $t->db.items";
    $victim->query("$query WHERE id < 3 AND SLEEP(60)", MYSQLI_ASYNC);
    $started = microtime(true);
    while (one($other, "SELECT COUNT(*) FROM $t->processlist WHERE INFO LIKE '$query%'") === '0') {
        same(microtime(true) - $started < 40, true, 'the query shows up in the process list');
        usleep(10000);
    }
    do {
        $other->query("KILL QUERY {$victim->thread_id}");
        [$read, $errors, $rejected] = [[$victim], [], []];
    } while (mysqli_poll($read, $errors, $rejected, 1) === 0 && microtime(true) - $started < 50);
    fails(1317, '70100', fn () => $victim->reap_async_query());
    same(microtime(true) - $started < 50, true, 'cancelled within 50 s');
    same(one($victim, "SELECT 'alive'"), 'alive', 'the cancelled connection');
    $victim->close();
    $other->close();
}

function errors(): void
{
    global $session;
    fails(1062, '23000', fn () => $session->query("INSERT INTO items VALUES (1, 'again')"));
    fails(1064, '42000', fn () => $session->query('SELEC 1'));
    fails(1146, '42S02', fn () => $session->prepare('SELECT * FROM no_such_table WHERE id = ?'));
    fails(1062, '23000', fn () => $session->execute_query('INSERT INTO items VALUES (?, ?)', [1, 'again']));
    fails(1644, '45000', fn () => $session->query("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'größe'"));
    same(one($session, "SELECT 'after'"), 'after', 'the connection after errors');
    $session->query('DROP TABLE IF EXISTS no_such_table');
    same([$session->warning_count, $session->get_warnings()->errno], [1, 1051], 'warning');
}

function changeUser(): void
{
    global $t, $session;
    $user = "{$t->db}_c";
    $session->query("DROP USER IF EXISTS '$user'@'%'");
    $session->query("CREATE USER '$user'@'%' IDENTIFIED BY 'change-1'");
    try {
        $m = connect();
        $m->query('SET @left = 5');
        $m->change_user($user, 'change-1', 'information_schema');
        same(explode('@', one($m, 'SELECT CURRENT_USER()'))[0], $user, 'user');
        same(one($m, 'SELECT @left'), null, 'user variable after the change');
        $m->change_user($t->user, $t->password, $t->db);
        same(one($m, 'SELECT DATABASE()'), $t->db, 'schema');
        $m->close();
    } finally {
        $session->query("DROP USER '$user'@'%'");
    }
}

/** Rows read one by one: unbuffered text, and a server-side cursor. */
function stream(): void
{
    global $session;
    $sql = 'SELECT a.id, a.name FROM items a, items b, items c, items d';
    $rows = 0;
    foreach ($session->query($sql, MYSQLI_USE_RESULT) as $row) {
        $rows += $row['name'] === item((int) $row['id']) ? 1 : 0;
    }
    same($rows, 10000, 'unbuffered rows');
    $s = $session->prepare($sql);
    $s->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
    $s->execute();
    $s->bind_result($id, $name);
    for ($rows = 0; $s->fetch(); $rows++) {
        same($name, item($id), 'row of the cursor');
    }
    $s->close();
    same($rows, 10000, 'rows of the cursor');
}

function reconnects(array $options = []): void
{
    for ($i = 0; $i < 50; $i++) {
        $m = connect($options);
        same(one($m, "SELECT $i"), (string) $i, 'answer');
        $m->close();
    }
}

Suite::check('prepare', prepareSchema(...));
logins();
Suite::check('types-text', typesText(...));
Suite::check('types-prepared', typesPrepared(...));
Suite::check('big-value', fn () => bigValue(false));
Suite::check('big-value-prepared', fn () => bigValue(true));
Suite::check('big-value-compressed', fn () => bigValue(false, ['flags' => MYSQLI_CLIENT_COMPRESS]));
if ($t->tls) {
    Suite::check('big-value-tls', fn () => bigValue(false, ['tls' => 'on']));
}
Suite::check('load-data-local', fn () => loadDataLocal());
Suite::check('load-data-local-compressed', fn () => loadDataLocal(['flags' => MYSQLI_CLIENT_COMPRESS]));
Suite::check('procedure-results', procedureResults(...));
Suite::check('multi-statements', multiStatements(...));
Suite::check('transaction', transaction(...));
Suite::check('cancel', cancel(...));
Suite::check('errors', errors(...));
Suite::check('change-user', changeUser(...));
Suite::check('stream', stream(...));
Suite::check('reconnects', fn () => reconnects());
if ($t->tls) {
    Suite::check('reconnects-tls', fn () => reconnects(['tls' => 'on']));
}
Suite::finish();
