<?php
// The target, the reporting and the test data of the PHP checks.

const LINES = 20 * 1024 * 1024 / 8;

final class Target
{
    public string $host, $socket, $user, $password, $db, $family, $ca, $processlist;
    public int $port;
    public bool $direct, $tls, $caNamesHost;

    public function __construct()
    {
        $this->host = getenv('WEIR_HOST');
        $this->port = (int) getenv('WEIR_PORT');
        $this->socket = getenv('WEIR_SOCKET') ?: '';
        $this->user = getenv('WEIR_USER');
        $this->password = getenv('WEIR_PASSWORD');
        $this->db = getenv('WEIR_DB');
        $this->family = getenv('WEIR_FAMILY');
        $this->ca = getenv('WEIR_CA') ?: '';
        $this->direct = getenv('WEIR_VIA') !== 'weir';
        $this->tls = getenv('WEIR_TLS') !== '0';
        $this->caNamesHost = getenv('WEIR_CA_NAMES_HOST') === '1';
        $this->processlist = $this->family === 'mysql' ? 'performance_schema.processlist' : 'information_schema.processlist';
    }
}

final class Suite
{
    private static int $passed = 0, $failed = 0;

    public static function check(string $name, callable $body): void
    {
        try {
            $body();
            self::$passed++;
            echo "ok $name\n";
        } catch (Throwable $e) {
            self::$failed++;
            $text = preg_replace('/\s+/', ' ', get_class($e) . ': ' . $e->getMessage());
            echo "FAIL $name: line {$e->getLine()}: " . substr($text, 0, 600) . "\n";
        }
    }

    public static function finish(): never
    {
        echo self::$passed . ' passed, ' . self::$failed . " failed\n";
        exit(self::$failed || !self::$passed ? 1 : 0);
    }
}

function same(mixed $got, mixed $wanted, string $what): void
{
    if ($got !== $wanted) {
        $show = fn ($v) => substr(json_encode($v, JSON_UNESCAPED_UNICODE | JSON_PARTIAL_OUTPUT_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE), 0, 250);
        throw new Exception("$what: got {$show($got)}, wanted {$show($wanted)}");
    }
}

function item(int $i): string
{
    return "größe 漢字 $i 🐬";
}

function bigText(): string
{
    $text = '';
    for ($i = 0; $i < LINES; $i++) {
        $text .= sprintf("%07d\n", $i);
    }
    return $text;
}

/** A file for LOAD DATA LOCAL with 20,000 lines. */
function loadFile(): string
{
    $name = tempnam(sys_get_temp_dir(), 'load');
    $text = '';
    for ($i = 1; $i <= 20000; $i++) {
        $text .= "$i\tgröße 漢字 🐬 $i\n";
    }
    file_put_contents($name, $text);
    return $name;
}

/** @return array<object> the columns of types.json that this family has */
function columns(string $family, array $unknown = []): array
{
    $all = json_decode(file_get_contents(getenv('WEIR_DRIVERS') . '/types.json'));
    return array_values(array_filter($all, fn ($c) => ($c->family ?? $family) === $family && !in_array($c->name, $unknown)));
}

function createTypes(array $columns): string
{
    return 'CREATE TABLE types (id INT PRIMARY KEY, '
        . implode(', ', array_map(fn ($c) => "$c->name $c->type NULL", $columns)) . ') CHARACTER SET utf8mb4';
}

function bound(object $column, ?string $text): mixed
{
    if ($text === null) {
        return null;
    }
    return match ($column->kind) {
        'bytes' => hex2bin($text),
        'float' => (float) $text,
        // PHP has no integers above 2^63.
        'bit' => $text === '18446744073709551615' ? str_repeat("\xff", 8) : ltrim(pack('J', (int) $text), "\0"),
        default => $text,
    };
}

/** The one form in which a value that was read and the text of types.json are compared. */
function canonical(object $column, mixed $value, bool $read): ?string
{
    if ($value === null) {
        return null;
    }
    return match ($column->kind) {
        'bytes' => $read ? bin2hex($value) : $value,
        // FLOAT comes back as a float of single precision; all values of types.json are exact in it.
        'float' => (string) (float) $value,
        'time', 'datetime' => str_contains($value, '.') ? str_pad($value, strpos($value, '.') + 7, '0') : "$value.000000",
        'json' => json_encode(json_decode($value)),
        default => (string) $value,
    };
}

function compareTypes(array $columns, array $rows): void
{
    same(count($rows), 3, 'rows');
    foreach ($rows as $number => $row) {
        same((int) $row[0], $number + 1, 'id');
        foreach ($columns as $i => $c) {
            $wanted = canonical($c, $number < 2 ? $c->values[$number] : null, false);
            // BIT is a number in PHP; above 2^63 it comes as text.
            same(canonical($c, $row[$i + 1], true), $wanted, 'row ' . ($number + 1) . " $c->name");
        }
    }
}

const PROCEDURE = "CREATE PROCEDURE several(IN how_many INT)
BEGIN
  SELECT id, name FROM items WHERE id <= how_many ORDER BY id;
  UPDATE items SET name = name WHERE id = 1;
  SELECT 'größe 🐬' AS word, how_many AS n;
END";
