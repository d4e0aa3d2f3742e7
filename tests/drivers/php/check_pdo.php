<?php
// PHP's PDO over mysqlnd. It shows no thread id and has no COM_CHANGE_USER.

require __DIR__ . '/suite.php';
$t = new Target();

if (($argv[1] ?? '') === 'sleep') {
    sleeper();
    exit;
}

const COMPRESSED = [PDO::MYSQL_ATTR_COMPRESS => true];
const UNVERIFIED = [PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => false, PDO::MYSQL_ATTR_SSL_CIPHER => 'DEFAULT'];
$session = null;

function connect(array $options = [], array $to = []): PDO
{
    global $t;
    $where = isset($to['socket']) ? "unix_socket={$to['socket']}" : "host=$t->host;port=$t->port";
    $db = array_key_exists('db', $to) ? $to['db'] : $t->db;
    return new PDO(
        "mysql:$where;charset=utf8mb4" . ($db ? ";dbname=$db" : ''), $to['user'] ?? $t->user, $to['password'] ?? $t->password,
        $options + [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::MYSQL_ATTR_LOCAL_INFILE => true]
    );
}

function one(PDO $p, string $sql): mixed
{
    $statement = $p->query($sql);
    $row = $statement->fetch(PDO::FETCH_NUM);
    $statement->closeCursor();
    return end($row);
}

function fails(int $number, ?string $state, callable $body): void
{
    try {
        $body();
    } catch (PDOException $e) {
        // mysqlnd reports HY000 for whatever fails before the login is done, so $state is null there.
        same([$e->errorInfo[1], $state ? $e->errorInfo[0] : null], [$number, $state], "error {$e->getMessage()}");
        return;
    }
    throw new Exception("error $number expected");
}

function prepareSchema(): void
{
    global $t, $session;
    $p = connect([], ['db' => null]);
    $p->exec("DROP DATABASE IF EXISTS $t->db");
    $p->exec("CREATE DATABASE $t->db CHARACTER SET utf8mb4");
    $session = connect();
    $session->exec("SET time_zone = '+00:00'");
    $session->exec('CREATE TABLE items (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4 ENGINE=InnoDB');
    $insert = $session->prepare('INSERT INTO items VALUES (?, ?)');
    for ($i = 1; $i <= 10; $i++) {
        $insert->execute([$i, item($i)]);
    }
}

function login(bool $ciphered, bool $compressed, array $options = [], array $to = []): void
{
    global $t;
    $p = connect($options, $to);
    same(one($p, "SELECT 'größe 🐬'"), 'größe 🐬', 'answer');
    if ($t->direct) { // behind a proxy these describe the proxy's own link
        same(one($p, "SHOW SESSION STATUS LIKE 'Ssl_cipher'") !== '', $ciphered, 'link is encrypted');
        same(one($p, "SHOW SESSION STATUS LIKE 'Compression'"), $compressed ? 'ON' : 'OFF', 'Compression');
    }
}

/** A user of whom nobody has a cached login: full authentication first, then what is quicker. */
function loginNewUser(string $suffix, array $options = [], array $to = []): void
{
    global $t, $session;
    $user = "{$t->db}_$suffix";
    $session->exec("DROP USER IF EXISTS '$user'@'%'");
    $session->exec("CREATE USER '$user'@'%' IDENTIFIED BY 'pw-1 %x#y'");
    try {
        for ($i = 0; $i < 3; $i++) {
            $p = connect($options, ['user' => $user, 'password' => 'pw-1 %x#y', 'db' => null] + $to);
            same(explode('@', one($p, 'SELECT CURRENT_USER()'))[0], $user, 'user');
        }
    } finally {
        $session->exec("DROP USER '$user'@'%'");
    }
}

function logins(): void
{
    global $t;
    Suite::check('login-plain', fn () => login(false, false));
    Suite::check('login-new-user-plain', fn () => loginNewUser('p'));
    Suite::check('login-compressed', fn () => login(false, true, COMPRESSED));
    if ($t->tls) {
        Suite::check('login-tls', fn () => login(true, false, UNVERIFIED));
        Suite::check('login-compressed-tls', fn () => login(true, true, UNVERIFIED + COMPRESSED));
        Suite::check('login-new-user-tls', fn () => loginNewUser('t', UNVERIFIED));
    }
    // mysqlnd verifies the host name along with the certificate or nothing at all.
    if ($t->tls && $t->ca && $t->caNamesHost) {
        Suite::check('login-verify-identity', fn () => login(true, false, [PDO::MYSQL_ATTR_SSL_CA => $t->ca]));
    }
    if ($t->socket) {
        Suite::check('login-socket', fn () => login(false, false, [], ['socket' => $t->socket]));
        Suite::check('login-new-user-socket', fn () => loginNewUser('s', [], ['socket' => $t->socket]));
    }
    Suite::check('login-wrong-password', fn () => fails(1045, null, fn () => connect([], ['password' => 'not the password'])));
    Suite::check('login-unknown-schema', fn () => fails(1049, null, fn () => connect([], ['db' => "{$t->db}_missing"])));
}

/** $emulated: PDO puts the values into the text itself; else the server prepares. */
function types(bool $emulated): void
{
    global $t;
    // mysqlnd refuses a binary row with a VECTOR, a type it does not know; as text it would want its bytes marked.
    $columns = columns($t->family, ['c_vector']);
    $names = implode(', ', array_merge(['id'], array_column($columns, 'name')));
    $p = connect([PDO::ATTR_EMULATE_PREPARES => $emulated]);
    $p->exec("SET time_zone = '+00:00'");
    $p->exec('DROP TABLE IF EXISTS types');
    $p->exec(createTypes($columns));
    // PDO quotes strings as text, so bytes travel in hex where it writes them into the statement.
    $marks = array_map(fn ($c) => $emulated && $c->kind === 'bytes' ? ', UNHEX(?)' : ', ?', $columns);
    $insert = $p->prepare("INSERT INTO types ($names) VALUES (?" . implode('', $marks) . ')');
    for ($row = 0; $row < 3; $row++) {
        $insert->bindValue(1, $row + 1, PDO::PARAM_INT);
        foreach ($columns as $i => $c) {
            $text = $row < 2 ? $c->values[$row] : null;
            $plain = $emulated && in_array($c->kind, ['bytes', 'bit']);
            $value = $plain ? $text : bound($c, $text);
            // A float is not a type of PDO's parameters, and would lose digits as text.
            $value = is_float($value) ? $text : $value;
            $number = in_array($c->kind, ['int', 'year']) || ($emulated && $c->kind === 'bit' && strlen((string) $text) < 19);
            $insert->bindValue($i + 2, $value, $value === null ? PDO::PARAM_NULL : ($number ? PDO::PARAM_INT : PDO::PARAM_STR));
            if ($emulated && $c->name === 'c_bit64' && $row === 0) {
                $insert->bindValue($i + 2, -1, PDO::PARAM_INT);
            }
        }
        $insert->execute();
        same($insert->rowCount(), 1, 'affected rows');
    }
    $select = $p->prepare("SELECT $names FROM types WHERE id > ? ORDER BY id");
    $select->execute([0]);
    compareTypes($columns, $select->fetchAll(PDO::FETCH_NUM));
}

function bigValue(bool $emulated, array $options = []): void
{
    $p = connect($options + [PDO::ATTR_EMULATE_PREPARES => $emulated]);
    $text = bigText();
    $p->exec('DROP TABLE IF EXISTS big');
    $p->exec('CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT) CHARACTER SET utf8mb4');
    $p->prepare('INSERT INTO big VALUES (?, ?)')->execute([1, $text]);
    same((int) one($p, 'SELECT LENGTH(v) FROM big'), strlen($text), 'length at the server');
    $select = $p->prepare('SELECT v FROM big WHERE id = ?');
    $select->execute([1]);
    same($select->fetchColumn() === $text, true, 'the value that came back');
}

function loadDataLocal(array $options = []): void
{
    $file = loadFile();
    $p = connect($options);
    try {
        $p->exec('DROP TABLE IF EXISTS loaded');
        $p->exec('CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(100)) CHARACTER SET utf8mb4');
        same($p->exec("LOAD DATA LOCAL INFILE '$file' INTO TABLE loaded CHARACTER SET utf8mb4"), 20000, 'affected rows');
        same((string) one($p, 'SELECT SUM(id) FROM loaded'), '200010000', 'sum');
        same((int) one($p, "SELECT COUNT(*) FROM loaded WHERE name = CONCAT('größe 漢字 🐬 ', id)"), 20000, 'texts');
    } finally {
        unlink($file);
    }
}

/** All result sets of a statement with every value as text; answers without columns are left out. */
function sets(PDOStatement $s): array
{
    $sets = [];
    do {
        if ($s->columnCount()) {
            $sets[] = array_map(fn ($row) => implode('|', $row), $s->fetchAll(PDO::FETCH_NUM));
        }
    } while ($s->nextRowset());
    return $sets;
}

function procedureResults(): void
{
    global $session;
    $session->exec('DROP PROCEDURE IF EXISTS several');
    $session->exec(PROCEDURE);
    $wanted = [['1|' . item(1), '2|' . item(2)], ['größe 🐬|2']];
    same(sets($session->query('CALL several(2)')), $wanted, 'result sets');
    $s = connect([PDO::ATTR_EMULATE_PREPARES => false])->prepare('CALL several(?)');
    $s->execute([2]);
    // PDO keeps the column count of the result before for the OK of the call: an empty set.
    same(array_values(array_filter(sets($s))), $wanted, 'result sets of the prepared call');
}

function multiStatements(): void
{
    global $session;
    $s = $session->query("SELECT 1; SELECT 'größe 🐬'; DO 0; SELECT id FROM items WHERE id < 3 ORDER BY id");
    same(sets($s), [['1'], ['größe 🐬'], ['1', '2']], 'result sets');
    fails(1146, '42S02', fn () => sets($session->query('SELECT 1; SELECT * FROM no_such_table; SELECT 2')));
    same(one($session, "SELECT 'after'"), 'after', 'the connection afterwards');
}

function transaction(): void
{
    global $session;
    $other = connect();
    foreach (['rollBack' => 0, 'commit' => 1] as $finish => $wanted) {
        $session->beginTransaction();
        $session->exec("INSERT INTO items VALUES (100, 'in a transaction')");
        same($session->inTransaction(), true, 'the driver reads the status flag of the transaction');
        same((int) one($other, 'SELECT COUNT(*) FROM items WHERE id = 100'), 0, 'view of another session before the end');
        $session->$finish();
        same($session->inTransaction(), false, 'status flag after the end');
        same((int) one($other, 'SELECT COUNT(*) FROM items WHERE id = 100'), $wanted, "view of another session after $finish");
    }
    $session->exec('DELETE FROM items WHERE id = 100');
}

/** The other process of cancel(): a long query, whose error it prints. */
function sleeper(): void
{
    global $t;
    $p = new PDO("mysql:host=$t->host;port=$t->port;dbname=$t->db", $t->user, $t->password);
    echo $p->query('SELECT CONNECTION_ID()')->fetchColumn(), "\n";
    try {
        $p->query("SELECT 1 AS cancel_me FROM $t->db.items WHERE id < 3 AND SLEEP(60)");
        echo "no error\n";
    } catch (PDOException $e) {
        echo "{$e->errorInfo[1]} {$e->errorInfo[0]}\n";
    }
    echo $p->query("SELECT 'alive'")->fetchColumn(), "\n";
}

/** PDO has no asynchronous queries: the query runs in a process of its own, KILL QUERY here; README.md says why it is sent again. */
function cancel(): void
{
    global $t;
    $process = proc_open([PHP_BINARY, __FILE__, 'sleep'], [1 => ['pipe', 'w']], $pipes);
    $other = connect();
    $started = microtime(true);
    $id = (int) fgets($pipes[1]);
    while ((int) one($other, "SELECT COUNT(*) FROM $t->processlist WHERE INFO LIKE 'SELECT 1 AS cancel_me FROM $t->db.items%'") === 0) {
        same(microtime(true) - $started < 40, true, 'the query shows up in the process list');
        usleep(10000);
    }
    do {
        $other->exec("KILL QUERY $id");
        [$read, $write, $except] = [[$pipes[1]], null, null];
    } while (stream_select($read, $write, $except, 1) === 0 && microtime(true) - $started < 50);
    same(trim(stream_get_contents($pipes[1])), "1317 70100\nalive", 'outcome');
    same(microtime(true) - $started < 50, true, 'cancelled within 50 s');
    proc_close($process);
}

function errors(): void
{
    global $session;
    $native = connect([PDO::ATTR_EMULATE_PREPARES => false]);
    fails(1062, '23000', fn () => $session->exec("INSERT INTO items VALUES (1, 'again')"));
    fails(1064, '42000', fn () => $session->exec('SELEC 1'));
    fails(1146, '42S02', fn () => $native->prepare('SELECT * FROM no_such_table WHERE id = ?'));
    fails(1062, '23000', fn () => $native->prepare('INSERT INTO items VALUES (?, ?)')->execute([1, 'again']));
    fails(1644, '45000', fn () => $session->exec("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'größe'"));
    same(one($session, "SELECT 'after'"), 'after', 'the connection after errors');
}

function stream(): void
{
    $p = connect([PDO::MYSQL_ATTR_USE_BUFFERED_QUERY => false]);
    $rows = 0;
    foreach ($p->query('SELECT a.id, a.name FROM items a, items b, items c, items d', PDO::FETCH_NUM) as $row) {
        $rows += $row[1] === item((int) $row[0]) ? 1 : 0;
    }
    same($rows, 10000, 'unbuffered rows');
}

/** A persistent connection is pinged before it is used again. */
function persistent(): void
{
    $id = one(connect([PDO::ATTR_PERSISTENT => true]), 'SELECT CONNECTION_ID()');
    same(one(connect([PDO::ATTR_PERSISTENT => true]), 'SELECT CONNECTION_ID()'), $id, 'the same connection');
    connect()->exec("KILL $id");
    same(one(connect([PDO::ATTR_PERSISTENT => true]), "SELECT 'new'"), 'new', 'a new connection after KILL');
}

function reconnects(array $options = []): void
{
    for ($i = 0; $i < 50; $i++) {
        same((int) one(connect($options), "SELECT $i"), $i, 'answer');
    }
}

Suite::check('prepare', prepareSchema(...));
logins();
Suite::check('types-text', fn () => types(true));
Suite::check('types-prepared', fn () => types(false));
Suite::check('big-value', fn () => bigValue(true));
Suite::check('big-value-prepared', fn () => bigValue(false));
Suite::check('big-value-compressed', fn () => bigValue(true, COMPRESSED));
if ($t->tls) {
    Suite::check('big-value-tls', fn () => bigValue(true, UNVERIFIED));
}
Suite::check('load-data-local', fn () => loadDataLocal());
Suite::check('load-data-local-compressed', fn () => loadDataLocal(COMPRESSED));
Suite::check('procedure-results', procedureResults(...));
Suite::check('multi-statements', multiStatements(...));
Suite::check('transaction', transaction(...));
Suite::check('cancel', cancel(...));
Suite::check('errors', errors(...));
Suite::check('stream', stream(...));
Suite::check('persistent', persistent(...));
Suite::check('reconnects', fn () => reconnects());
if ($t->tls) {
    Suite::check('reconnects-tls', fn () => reconnects(UNVERIFIED));
}
Suite::finish();
