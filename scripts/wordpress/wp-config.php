<?php
// The configuration of the WordPress that scripts/wordpress.sh runs. It stands in place of Debian's, which reads /etc/wordpress.

// Pages for everybody are read with an account of their own, whose statements Weir's rules name. Whoever is known here (who has
// logged in, or has left a comment), and whatever writes, comes with another one and so always meets the server.
function is_for_everybody(): bool {
    if (PHP_SAPI !== 'cli-server' || $_SERVER['REQUEST_METHOD'] !== 'GET') {
        return false;
    }
    foreach (array_keys($_COOKIE) as $name) {
        if (preg_match('/^(wordpress_|wp-postpass_|comment_author_)/', $name)) {
            return false;
        }
    }
    return !preg_match('!^/(wp-admin|wp-login|wp-cron|wp-json)!', $_SERVER['REQUEST_URI']);
}

define('DB_HOST', getenv('WORDPRESS_SERVER'));
define('DB_NAME', 'wordpress');
define('DB_USER', is_for_everybody() ? 'pages' : 'editors');
define('DB_PASSWORD', 'wordpress');
define('DB_CHARSET', 'utf8mb4');
$table_prefix = 'wp_';

// The same address whatever port it is served at, so that pages can be compared byte by byte.
define('WP_HOME', 'http://blog.example');
define('WP_SITEURL', 'http://blog.example');
define('WP_DEFAULT_THEME', 'twentytwentyone');

// Nothing runs on the side, and nothing leaves this machine.
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_AUTO_UPDATE_CORE', false);

// Not secret: nobody else comes here.
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $of) {
    define("{$of}_KEY", "key of a throwaway blog: $of");
    define("{$of}_SALT", "salt of a throwaway blog: $of");
}

if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
