//! Every word that something here knows by its spelling, in one table: the lexer looks each word of a statement up
//! once, and whoever reads the tokens finds what the word is to him by its number.

use crate::digest::words::{WORDS as SHOWN, Word};
use crate::functions::{self, Lists};
use crate::keyword::Keyword;
use crate::lexer::Eight;
use crate::marks::{self, Marks};

/// The number of a word of the table; 0 is any other word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct WordId(u16);

impl WordId {
    /// A word that nothing here knows.
    pub(crate) const NONE: Self = Self(0);

    /// Looks a word up, in any case of letters.
    pub(crate) fn of(word: &[u8]) -> Self {
        let id = Self::at(word, 0, word.len());
        // A key holds some bytes that stand in no word as if they were others.
        if id.entry().is(word) { id } else { Self::NONE }
    }

    /// Looks up the word that stands at `start..end` of a text, of bytes that can stand in an identifier.
    pub(crate) fn at(sql: &[u8], start: usize, end: usize) -> Self {
        let len = end - start;
        let first = Eight::at(sql, start).folded(len);
        let second = if len > 8 { Eight::at(sql, start + 8).folded(len - 8) } else { 0 };
        Self::of_key((first, second), sql, start, end)
    }

    /// Reads the ASCII letters, digits and `_` at `start`: the word, and where it ends.
    #[inline]
    pub(crate) fn read(sql: &[u8], start: usize) -> (Self, usize) {
        let eight = Eight::at(sql, start);
        let mut len = eight.word_len();
        let mut end = start + len;
        let mut key = (eight.folded(len), 0);
        if len == 8 {
            let eight = Eight::at(sql, end);
            len = eight.word_len();
            key.1 = eight.folded(len);
            end += len;
            while len == 8 {
                len = Eight::at(sql, end).word_len();
                end += len;
            }
        }
        (Self::of_key(key, sql, start, end), end)
    }

    /// The same, if its key is known.
    #[inline]
    pub(crate) fn of_key(key: Key, sql: &[u8], start: usize, end: usize) -> Self {
        let len = end - start;
        let mut slot = slot(key, len);
        loop {
            let id = SLOTS[slot & (SLOTS.len() - 1)];
            let Some(entry) = TABLE.get(usize::from(id)).filter(|_| id != 0) else { return Self::NONE };
            let is_same = entry.key.0 == key.0 && entry.key.1 == key.1 && usize::from(entry.len) == len;
            if is_same && (len <= 16 || entry.is_at(sql, start, end)) {
                return Self(id);
            }
            slot += 1;
        }
    }

    /// The number as it stands in a token.
    pub(crate) fn code(self) -> u16 {
        self.0
    }

    pub(crate) fn from_code(code: u16) -> Self {
        Self(code)
    }

    fn entry(self) -> &'static Entry {
        TABLE.get(usize::from(self.0)).unwrap_or(&NOTHING)
    }

    pub(crate) fn keyword(self) -> Option<Keyword> {
        self.entry().keyword
    }

    /// What a digest shows for the word.
    pub(crate) fn shown(self) -> Option<&'static Word> {
        self.entry().shown
    }

    /// What it makes of a statement in which it is not the first word.
    #[inline]
    pub(crate) fn marks(self) -> Marks {
        self.entry().marks
    }

    /// Which lists of functions the word is on.
    pub(crate) fn lists(self) -> Lists {
        self.entry().lists
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: Key,
    spelling: &'static str,
    shown: Option<&'static Word>,
    lists: Lists,
    marks: Marks,
    keyword: Option<Keyword>,
    len: u8,
}

impl Entry {
    const fn new(spelling: &'static str) -> Self {
        let word = spelling.as_bytes();
        Self {
            key: key(word),
            spelling,
            shown: None,
            lists: Lists::NONE,
            marks: Marks::NONE,
            keyword: None,
            len: word.len() as u8,
        }
    }

    fn is(&self, word: &[u8]) -> bool {
        self.spelling.as_bytes().eq_ignore_ascii_case(word)
    }

    #[cold]
    #[inline(never)]
    fn is_at(&self, sql: &[u8], start: usize, end: usize) -> bool {
        self.is(sql.get(start..end).unwrap_or_default())
    }
}

static NOTHING: Entry = Entry::new("");

/// No word of the table is longer, in bytes.
const LONGEST: usize = 40;

/// One for each time that a word is listed; a word that several lists have is at the first place of it only.
const PLACES: usize = 1 + Keyword::ALL.len() + SHOWN.len() + functions::LISTED + marks::WORDS.len();

/// A power of two that leaves more than half of the slots empty, so that most words are found or missed at once.
const SLOT_BITS: u32 = 12;

static TABLE: [Entry; PLACES] = BUILT.0;
static SLOTS: [u16; 1 << SLOT_BITS] = BUILT.1;

const BUILT: ([Entry; PLACES], [u16; 1 << SLOT_BITS]) = built();

const fn built() -> ([Entry; PLACES], [u16; 1 << SLOT_BITS]) {
    let mut table = [Entry::new(""); PLACES];
    let mut slots = [0; 1 << SLOT_BITS];
    let mut next = 1;
    let mut i = 0;
    while i < Keyword::ALL.len() {
        let id = place(&mut table, &mut slots, &mut next, Keyword::ALL[i].as_str());
        table[id].keyword = Some(Keyword::ALL[i]);
        table[id].marks = Marks::of(Keyword::ALL[i]);
        i += 1;
    }
    i = 0;
    while i < SHOWN.len() {
        let id = place(&mut table, &mut slots, &mut next, SHOWN[i].spelling);
        table[id].shown = Some(&SHOWN[i]);
        i += 1;
    }
    i = 0;
    while i < functions::ALL.len() {
        let (list, names) = functions::ALL[i];
        let mut j = 0;
        while j < names.len() {
            let id = place(&mut table, &mut slots, &mut next, names[j]);
            table[id].lists = table[id].lists.with(list);
            j += 1;
        }
        i += 1;
    }
    i = 0;
    while i < marks::WORDS.len() {
        let id = place(&mut table, &mut slots, &mut next, marks::WORDS[i]);
        table[id].marks = Marks::SPECIAL;
        i += 1;
    }
    (table, slots)
}

/// Where a word stands, which is the next place if it has none.
const fn place(
    table: &mut [Entry; PLACES],
    slots: &mut [u16; 1 << SLOT_BITS],
    next: &mut usize,
    spelling: &'static str,
) -> usize {
    let word = spelling.as_bytes();
    let key = key(word);
    let mut slot = slot(key, word.len());
    loop {
        let id = slots[slot % slots.len()] as usize;
        if id == 0 {
            break;
        }
        if table[id].key.0 == key.0
            && table[id].key.1 == key.1
            && table[id].len as usize == word.len()
            && same(table[id].spelling, spelling)
        {
            return id;
        }
        slot += 1;
    }
    assert!(word.len() <= LONGEST);
    let id = *next;
    *next += 1;
    slots[slot % slots.len()] = id as u16;
    table[id] = Entry::new(spelling);
    id
}

const fn same(a: &str, b: &str) -> bool {
    a.as_bytes().eq_ignore_ascii_case(b.as_bytes())
}

/// The first 16 bytes of a word in small letters, eight and eight, the first byte of each in the lowest place.
pub(crate) type Key = (u64, u64);

const fn key(word: &[u8]) -> Key {
    let mut key = (0, 0);
    let mut i = 0;
    while i < word.len() && i < 16 {
        let byte = (word[i] | 0x20) as u64;
        if i < 8 {
            key.0 |= byte << (8 * i);
        } else {
            key.1 |= byte << (8 * (i - 8));
        }
        i += 1;
    }
    key
}

#[inline]
const fn slot(key: Key, len: usize) -> usize {
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = key.0 ^ key.1.rotate_left(29) ^ len as u64;
    (mixed.wrapping_mul(SPREAD) >> (64 - SLOT_BITS)) as usize
}

/// All words, some more than once.
#[cfg(test)]
pub(crate) fn spellings() -> Vec<&'static str> {
    let lists = functions::ALL.iter().flat_map(|(_, names)| names.iter().copied());
    let keywords = Keyword::ALL.iter().map(|keyword| keyword.as_str());
    let shown = SHOWN.iter().map(|word| word.spelling);
    keywords.chain(shown).chain(lists).chain(marks::WORDS.iter().copied()).collect()
}

#[cfg(test)]
mod tests;
