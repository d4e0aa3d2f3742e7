<?php
// Reads pages of the same blog from several places.
//   pages.php compare PAGES PLACES          every page from every place, and what a reader sees of a comment; 1 when a page differs
//   pages.php away PAGES PLACES             ends the server: with rules every page must still be what it was
//   pages.php measure PAGES PLACES ROUNDS   how long pages take, what the server does for each, and what each rule came to
// PAGES is what fill.php printed; PLACES is a text of "name port process" for each place, of which the first is without Weir.

[, $verb, $pages, $places] = $argv;
$pages = array_map(fn ($line) => explode("\t", $line), file($pages, FILE_IGNORE_NEW_LINES));
$places = array_chunk(explode(' ', $places), 3);
exit(match ($verb) {
    'compare' => compare($pages, $places),
    'away' => away($pages, $places),
    'measure' => measure($pages, $places, (int) $argv[4]),
});

// ---- comparing --------------------------------------------------------------------------------------------------------

function compare(array $pages, array $places): int {
    $differ = 0;
    // The place without Weir twice, for pages may differ by themselves; Weir with rules twice, first out of the server, then out of memory.
    foreach ([...$places, $places[0], $places[2]] as $visit => [$name, $port]) {
        $same = 0;
        foreach ($pages as $i => [$what, $path]) {
            $page = fetch($port, $path);
            $expected[$i] ??= $page;
            if ($page === $expected[$i]) {
                $same++;
            } else {
                printf("FAILED: %s differs: %s, %s\n%s", $name, $what, $path, difference($expected[$i], $page));
                $differ++;
            }
            if ($visit === 0 && substr($page, 9, 3) !== ($what === 'not found' ? '404' : '200')) {
                printf("FAILED: %s, %s: %s\n", $what, $path, strtok($page, "\r"));
                $differ++;
            }
        }
        printf("      %-13s %d of %d pages are what they were at first%s\n", $name, $same, count($pages), $visit > 2 ? ', again' : '');
    }
    return min(1, $differ + comment($pages, $places));
}

// Whoever writes a comment sees it at once; others when its time is over, or when somebody wipes what was made of comments.
function comment(array $pages, array $places): int {
    [, $path] = array_values(array_filter($pages, fn ($page) => $page[0] === 'story with comments'))[0];
    [, $direct] = $places[0];
    [, $rules] = $places[2];
    // What the visits have left may be near the end of its time.
    wipe();
    $before = fetch($rules, $path);
    preg_match("/name='comment_post_ID' value='(\d+)'/", $before, $found);
    $text = 'Seen by ' . bin2hex(random_bytes(8));
    $form = http_build_query(['comment_post_ID' => $found[1] ?? 0, 'comment_parent' => 0, 'author' => 'Reader', 'email' => 'r@reader.example',
        'comment' => $text, 'wp-comment-cookies-consent' => 'yes', 'submit' => 'Post Comment']);
    $answer = fetch($rules, '/wp-comments-post.php', $form);
    preg_match_all('/^Set-Cookie: ([^;]+)/mi', $answer, $cookies);
    $checks = [
        'a comment is taken' => substr($answer, 9, 3) === '302' && $cookies[1],
        'whoever wrote it sees it' => str_contains(fetch($rules, $path, null, implode('; ', $cookies[1])), $text),
        'others see what there was, for its time' => fetch($rules, $path) === $before,
        'after a wipe they see it too' => wipe() && str_contains($page = fetch($rules, $path), $text) && $page === fetch($direct, $path),
    ];
    foreach ($checks as $what => $good) {
        printf("%s %s\n", $good ? '     ' : 'FAILED:', $what);
    }
    return count(array_filter($checks, fn ($good) => !$good));
}

// What was read lately can be read without the server.
function away(array $pages, array $places): int {
    [$name, $port] = $places[2];
    $before = array_map(fn ($page) => fetch($port, $page[1]), $pages);
    $server = (int) getenv('WORDPRESS_SERVER_PID');
    posix_kill($server, SIGTERM);
    for ($tries = 0; $tries < 1200 && preg_match('/^State:\s+[^Z]/m', (string) @file_get_contents("/proc/$server/status")); $tries++) {
        usleep(100000);
    }
    $start = hrtime(true);
    $same = $differ = 0;
    foreach ($pages as $i => [$what, $path]) {
        $page = fetch($port, $path);
        if ($page === $before[$i]) {
            $same++;
        } else {
            printf("FAILED: without the server %s differs: %s\n%s", $what, $path, difference($before[$i], $page));
            $differ = 1;
        }
    }
    printf("      %-13s %d of %d pages are what they were, %.0f ms each\n", $name, $same, count($pages), (hrtime(true) - $start) / 1e6 / count($pages));
    return $differ;
}

function wipe(): bool {
    $command = [getenv('WORDPRESS_WEIR'), 'cache', 'wipe', '--user', 'pages', '--admin', getenv('WORDPRESS_ADMIN')];
    exec(implode(' ', array_map('escapeshellarg', $command)), $output, $status);
    return $status === 0;
}

// The first lines in which they differ.
function difference(string $expected, string $page): string {
    [$expected, $page] = [explode("\n", $expected), explode("\n", $page)];
    foreach ($expected as $i => $line) {
        if ($line !== ($page[$i] ?? '')) {
            return sprintf("  line %d was: %.300s\n  line %d is:  %.300s\n", $i + 1, $line, $i + 1, $page[$i] ?? '');
        }
    }
    return sprintf("  %d more lines\n", count($page) - count($expected));
}

// ---- measuring --------------------------------------------------------------------------------------------------------

function measure(array $pages, array $places, int $rounds): int {
    [$rows, $read] = [[], 0];
    read_all($pages, $places[2][1], 1);
    $rules = rules();
    foreach ([1, 4] as $clients) {
        $rows[$clients] = array_fill(0, count($places), ['times' => [], 'seconds' => 0, 'server' => 0, 'questions' => 0, 'php' => 0]);
        // In turns, so that whatever else this machine does meets all alike; the first turn warms up.
        for ($round = 0; $round <= $rounds; $round++) {
            foreach ($places as $i => [, $port, $php]) {
                $before = [cpu(getenv('WORDPRESS_SERVER_PID')), questions(), cpu_of_children($php), hrtime(true)];
                $times = read_all($pages, $port, $clients);
                $after = [cpu(getenv('WORDPRESS_SERVER_PID')), questions(), cpu_of_children($php), hrtime(true)];
                $read += $i === 2 ? count($times) : 0;
                if ($round > 0) {
                    $row = &$rows[$clients][$i];
                    $row['times'] = [...$row['times'], ...$times];
                    $row['server'] += $after[0] - $before[0];
                    $row['questions'] += $after[1] - $before[1] - 1;
                    $row['php'] += $after[2] - $before[2];
                    $row['seconds'] += ($after[3] - $before[3]) / 1e9;
                }
            }
        }
    }
    print_table($rows, $places, count($pages));
    print_rules($rules, rules(), $read);
    print_reaching($pages, $places[2][1]);
    return 0;
}

// Every page by each of the clients at once, each beginning elsewhere. The times in ms.
function read_all(array $pages, string $port, int $clients): array {
    $results = tmpfile();
    $children = [];
    for ($client = 0; $client < $clients; $client++) {
        $child = $clients > 1 ? pcntl_fork() : 0;
        if ($child > 0) {
            $children[] = $child;
            continue;
        }
        $from = intdiv(count($pages) * $client, $clients);
        foreach ([...array_slice($pages, $from), ...array_slice($pages, 0, $from)] as [, $path]) {
            $start = hrtime(true);
            fetch($port, $path);
            $times[] = (hrtime(true) - $start) / 1e6;
        }
        if ($clients === 1) {
            return $times;
        }
        // One write, so that it stays whole.
        fwrite($results, implode("\n", $times) . "\n");
        posix_kill(getmypid(), SIGKILL);
    }
    foreach ($children as $child) {
        pcntl_waitpid($child, $status);
    }
    rewind($results);
    return array_map('floatval', explode("\n", trim(stream_get_contents($results))));
}

function print_table(array $rows, array $places, int $pages): void {
    $line = str_repeat('-', 112) . "\n";
    printf("%s%-14s %7s | %8s %9s | %9s %8s %8s | %10s %13s %12s\n%s", $line, '', 'readers', 'pages/s', 'of direct', 'median ms', 'of direct',
        'p95 ms', 'queries', 'CPU of server', 'CPU of PHP', $line);
    foreach ($rows as $clients => $of) {
        foreach ($of as $i => $row) {
            $times = $row['times'];
            sort($times);
            $count = count($times);
            $rate = $count / $row['seconds'];
            $median = $times[intdiv($count, 2)];
            $base ??= [$rate, $median];
            printf("%-14s %7d | %8.1f %8.0f%% | %9.1f %8.0f%% %8.1f | %10.1f %10.1f ms %9.1f ms\n", strtr($places[$i][0], '-', ' '), $clients, $rate,
                100 * $rate / $base[0], $median, 100 * $median / $base[1], $times[(int) ($count * 0.95)],
                $row['questions'] / $count, $row['server'] / $count, $row['php'] / $count);
        }
        $base = null;
    }
    echo $line;
    printf("Queries, as the server counts them, and CPU times are for each page. %d pages, each read %d times by each reader.\n", $pages,
        count($rows[1][0]['times']) / $pages);
    echo "The readers, WordPress, the server and Weir share the " . trim(shell_exec('nproc')) . " cores of this machine.\n";
}

// What each rule came to between two readings, for each page.
function print_rules(array $before, array $after, int $pages): void {
    printf("\n%-14s %16s %10s %10s   %s\n", 'rule', 'statements', 'hit ratio', 'entries', 'not served because');
    foreach ($after as $name => $rule) {
        $since = fn (string $what) => ($rule['cache'][$what] ?? 0) - ($before[$name]['cache'][$what] ?? 0);
        $asked = $since('hits') + $since('misses') + $since('waits');
        $refused = [];
        foreach ($rule['cache']['refused'] ?? [] as $why => $count) {
            $count -= $before[$name]['cache']['refused'][$why] ?? 0;
            $refused[] = $count > 0 ? sprintf('%s (%.1f)', $why, $count / $pages) : '';
        }
        printf("%-14s %16.1f %10s %10s   %s\n", $name, ($rule['hits'] - $before[$name]['hits']) / $pages,
            $asked > 0 ? sprintf('%.1f%%', 100 * $since('hits') / $asked) : '-', $rule['cache']['entries'] ?? '-',
            isset($rule['cache']) ? implode(', ', array_filter($refused)) : 'the rule says so');
    }
}

function rules(): array {
    $command = [getenv('WORDPRESS_WEIR'), 'rules', 'list', '--json', '--admin', getenv('WORDPRESS_ADMIN')];
    return array_column(json_decode(shell_exec(implode(' ', array_map('escapeshellarg', $command))), true)['rules'], null, 'name');
}

// What of pages that were read before still reaches the server, by its own log.
function print_reaching(array $pages, string $port): void {
    $server = server();
    $server->query("SET GLOBAL log_output = 'TABLE'");
    $server->query('TRUNCATE mysql.general_log');
    $server->query('SET GLOBAL general_log = ON');
    read_all($pages, $port, 1);
    $server->query('SET GLOBAL general_log = OFF');
    $kinds = [];
    foreach ($server->query("SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE user_host NOT LIKE 'root%'") as $row) {
        [$command, $text] = array_values($row);
        $kind = match (true) {
            $command !== 'Query' => $command,
            str_contains($text, '_transient_') => 'statements about transients',
            (bool) preg_match('/^(SET\b|SELECT (HEX\(DATABASE|@@|LAST_INSERT_ID))/', $text) => "of the session: " . substr($text, 0, 40),
            default => substr(preg_replace('/\s+/', ' ', $text), 0, 70),
        };
        $kinds[$kind] = ($kinds[$kind] ?? 0) + 1;
    }
    arsort($kinds);
    echo "\nWhat reaches the server for each page that is read again with the rules:\n";
    foreach (array_slice($kinds, 0, 12) as $kind => $count) {
        printf("%8.2f  %s\n", $count / count($pages), $kind);
    }
}

// CPU time of a process in ms.
function cpu(string $pid): float {
    $fields = explode(' ', preg_replace('/^.*\) /', '', file_get_contents("/proc/$pid/stat")));
    return ($fields[11] + $fields[12]) * 10;
}

function cpu_of_children(string $pid): float {
    $children = explode(' ', trim(file_get_contents("/proc/$pid/task/$pid/children")));
    return cpu($pid) + array_sum(array_map('cpu', array_filter($children)));
}

// What clients have asked the server.
function questions(): int {
    return (int) server()->query("SHOW GLOBAL STATUS LIKE 'Questions'")->fetch_row()[1];
}

function server(): mysqli {
    static $server = null;
    return $server ??= new mysqli('localhost', 'root', '', '', 0, getenv('WORDPRESS_SOCKET'));
}

// ---- HTTP -------------------------------------------------------------------------------------------------------------

// An answer as it comes, but for what is the time of day or the place; with $form, to a POST.
function fetch(string $port, string $path, ?string $form = null, string $cookies = ''): string {
    $head = ($form === null ? 'GET' : 'POST') . " $path HTTP/1.0\r\nHost: blog.example\r\n";
    $head .= $cookies === '' ? '' : "Cookie: $cookies\r\n";
    $head .= $form === null ? '' : "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " . strlen($form) . "\r\n";
    $socket = stream_socket_client("tcp://127.0.0.1:$port", $code, $message, 30) ?: exit("no answer at port $port: $message\n");
    stream_set_timeout($socket, 60);
    fwrite($socket, "$head\r\n" . $form);
    $answer = stream_get_contents($socket);
    [$head, $body] = explode("\r\n\r\n", $answer, 2) + ['', ''];
    return preg_replace('/^Date: .*\r\n/mi', '', "$head\r\n") . "\r\n$body";
}
