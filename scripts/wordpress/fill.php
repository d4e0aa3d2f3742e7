<?php
// Installs the WordPress in the folder $argv[1] and fills it with $argv[2] posts. Prints the pages to be read, one in a line: what
// it is, a tab, its path. Of chance there is none: the same number of posts gives the same texts.

if ($argc !== 3) {
    fwrite(STDERR, "usage: fill.php FOLDER POSTS\n");
    exit(2);
}
[, $folder, $posts] = $argv;
const CATEGORIES = 25, TAGS = 60, AUTHORS = 10, COMMENTS_AT_MOST = 8;
const FIRST_DAY = '2024-01-01 08:00:00', DAYS = 600;
const WORDS = 'account answer autumn avenue bakery balance battery bicycle bridge budget calendar camera candle canvas carpet
    castle cattle ceiling century chapter charity citizen climate clothing coffee college compass concert copper corner council country
    courage culture curtain customer daylight decade degree deposit desert device dialogue disaster distance district dolphin drawing
    economy edition election elephant engine evening evidence factory failure farmer fashion feather festival fiction flavour forest
    fortune fountain freedom furniture future garden gesture glacier grammar gravity guitar habitat harbour harvest heritage highway
    history holiday horizon hospital hotel hunger industry insect island jacket journal journey justice kitchen ladder language laughter
    lawyer leather lecture library machine magazine majority market meadow measure medicine memory message minister mirror moment
    morning mountain museum mystery nation network notice novel number ocean office opinion orange orchard organ outcome paper
    passage patient pattern payment pencil people pepper picture planet pocket poetry police pottery problem product profit promise
    quarter question railway reader reason recipe record region religion report research result river rocket sailor scholar school
    science season secret shadow shelter silence silver soldier spirit station statue stranger student subject summer surface survey
    teacher theatre theory thunder ticket timber tonight tourist traffic treasure tunnel uncle valley variety vehicle version village
    violin visitor volume weather weekend window winter wisdom witness writer yesterday';

define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = 'blog.example';
$_SERVER['REQUEST_METHOD'] = 'GET';
mt_srand(1);

// WordPress takes these where they exist: it sends no mail.
function wp_mail(): bool { return true; }
function wp_new_blog_notification(): void {}

require "$folder/wp-load.php";
require ABSPATH . 'wp-admin/includes/upgrade.php';
// It would ask itself for a page, to see whether the web server rewrites addresses.
add_filter('pre_http_request', fn () => new WP_Error('off', 'nothing is asked over HTTP'));

// One commit for all.
$wpdb->query('SET autocommit = 0');
install();
$stories = stories((int) $posts);
$wpdb->query('COMMIT');
foreach (pages($stories) as [$what, $path]) {
    echo "$what\t$path\n";
}

function install(): void {
    global $wp_rewrite;
    wp_install('The Weekly Weir', 'chief', 'chief@blog.example', true, '', 'chief-password');
    update_option('permalink_structure', '/%year%/%monthnum%/%postname%/');
    update_option('comment_moderation', '0');
    update_option('comment_previously_approved', '0');
    update_option('blogdescription', 'What is worth telling');
    $wp_rewrite->init();
    create_initial_taxonomies();
    $wp_rewrite->flush_rules(false);
}

// The ids of the posts, oldest first.
function stories(int $count): array {
    // What each post would otherwise make WordPress count and look for again.
    wp_defer_term_counting(true);
    wp_defer_comment_counting(true);
    $categories = $tags = $authors = $ids = [];
    for ($i = 0; $i < CATEGORIES; $i++) {
        $categories[] = wp_insert_term(ucfirst(word()) . " $i", 'category')['term_id'];
    }
    for ($i = 0; $i < TAGS; $i++) {
        $tags[] = word() . "-$i";
    }
    for ($i = 0; $i < AUTHORS; $i++) {
        $authors[] = wp_insert_user(['user_login' => "author$i", 'user_pass' => 'author-password', 'role' => 'author',
            'display_name' => ucfirst(word()) . ' ' . ucfirst(word())]);
    }
    for ($i = 0; $i < $count; $i++) {
        $at = strtotime(FIRST_DAY) + intdiv(DAYS * 86400 * $i, $count);
        $id = wp_insert_post(wp_slash([
            'post_title' => ucfirst(words(mt_rand(3, 8))),
            'post_name' => "story-$i",
            'post_content' => text(mt_rand(3, 9)),
            'post_excerpt' => $i % 3 ? '' : sentence(),
            'post_status' => 'publish',
            'post_author' => $authors[array_rand_seeded($authors)],
            'post_category' => [$categories[array_rand_seeded($categories)]],
            'tags_input' => [$tags[array_rand_seeded($tags)], $tags[array_rand_seeded($tags)]],
            'post_date' => gmdate('Y-m-d H:i:s', $at),
            'post_date_gmt' => gmdate('Y-m-d H:i:s', $at),
            'meta_input' => ['_edit_last' => '1', 'mood' => word(), 'minutes_to_read' => (string) mt_rand(2, 12)],
        ]), true);
        if (is_wp_error($id)) {
            fwrite(STDERR, 'fill: ' . $id->get_error_message() . "\n");
            exit(1);
        }
        comments($id, $at);
        $ids[] = $id;
        // Objects of posts that are done with.
        if ($i % 500 === 499) {
            wp_cache_flush();
        }
    }
    wp_defer_comment_counting(false);
    wp_defer_term_counting(false);
    return $ids;
}

function comments(int $post, int $at): void {
    $parent = 0;
    for ($i = mt_rand(0, COMMENTS_AT_MOST); $i > 0; $i--) {
        $at += mt_rand(60, 20000);
        $name = ucfirst(word());
        $id = wp_insert_comment(wp_slash([
            'comment_post_ID' => $post,
            'comment_author' => $name,
            'comment_author_email' => strtolower($name) . '@reader.example',
            'comment_content' => sentence() . ' ' . sentence(),
            'comment_date' => gmdate('Y-m-d H:i:s', $at),
            'comment_date_gmt' => gmdate('Y-m-d H:i:s', $at),
            'comment_approved' => 1,
            'comment_parent' => $parent,
        ]));
        $parent = $i % 3 === 0 ? $id : 0;
    }
}

// What a reader sees: the home page, ten stories, three categories, and a page of each other kind.
function pages(array $ids): array {
    $path = fn (string $url) => wp_make_link_relative($url);
    $pages = [['home', '/'], ['home, page 2', '/page/2/'], ['home, page 4', '/page/4/']];
    $commented = false;
    foreach (range(0, 9) as $i) {
        $id = $ids[intdiv((count($ids) - 1) * $i, 9)];
        $pages[] = ['story', $path(get_permalink($id))];
    }
    foreach (array_slice(get_categories(['orderby' => 'count', 'order' => 'DESC']), 0, 3) as $category) {
        $pages[] = ['category', $path(get_category_link($category))];
    }
    $most = get_posts(['orderby' => 'comment_count', 'numberposts' => 1])[0];
    $tag = get_tags(['orderby' => 'count', 'order' => 'DESC', 'number' => 1])[0];
    return [...$pages,
        ['story with comments', $path(get_permalink($most))],
        ['tag', $path(get_tag_link($tag))],
        ['author', $path(get_author_posts_url((int) get_post($ids[0])->post_author))],
        ['month', '/2024/05/'],
        ['search', '/?s=harbour'],
        ['feed', '/feed/'],
        ['comments feed', '/comments/feed/'],
        ['page', $path(get_permalink(get_page_by_path('sample-page')))],
        ['not found', '/2024/05/no-such-story/'],
    ];
}

function text(int $paragraphs): string {
    $text = '';
    while ($paragraphs-- > 0) {
        $sentences = array_map(fn () => sentence(), range(1, mt_rand(2, 6)));
        $text .= "<!-- wp:paragraph -->\n<p>" . implode(' ', $sentences) . "</p>\n<!-- /wp:paragraph -->\n\n";
    }
    return $text;
}

function sentence(): string {
    return ucfirst(words(mt_rand(6, 14))) . (mt_rand(0, 9) ? '.' : ' – “' . word() . '”!');
}

function words(int $count): string {
    return implode(' ', array_map(fn () => word(), range(1, $count)));
}

function word(): string {
    static $words = null;
    $words ??= preg_split('/\s+/', WORDS);
    return $words[array_rand_seeded($words)];
}

function array_rand_seeded(array $of): int {
    return mt_rand(0, count($of) - 1);
}
