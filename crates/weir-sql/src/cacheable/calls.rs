//! What a `(` in an expression is, and what the function is that it calls.

use super::Uncacheable;
use super::from::is_identifier;
use super::functions::{Class, class};
use super::names::FunctionName;
use super::walk::{Opener, State, Walk};
use super::words::Folded;
use crate::{Token, TokenKind, functions};

/// Opens the parenthesis behind `walk.before`.
pub(super) fn open(walk: &mut Walk<'_>, open: Token) {
    let Some(name) = walk.before[2].filter(|t| is_identifier(t.kind)) else {
        return walk.open(State::Start, Opener::Group);
    };
    if walk.was(1, b".") {
        qualified(walk, name);
        return walk.open(State::Start, Opener::Group);
    }
    if is_type(walk) {
        return walk.open(State::Names, Opener::Names);
    }
    if name.kind == TokenKind::Word {
        word(walk, name, open);
    } else {
        quoted(walk, name);
        walk.open(State::Start, Opener::Group);
    }
}

/// Refuses what would be a call, were it not in a list of tables.
pub(super) fn refuse_named(walk: &mut Walk<'_>) {
    let Some(name) = walk.before[2].filter(|t| is_identifier(t.kind)) else { return };
    let name = walk.name_of(name);
    if let Some(class) = class(&name) {
        walk.refuse_class(class);
    }
}

/// Whether the parenthesis is of a type: `CAST(a AS DECIMAL(9,2))`, `CONVERT(a, CHAR(5))`, `RETURNING DATETIME(6)`.
fn is_type(walk: &Walk<'_>) -> bool {
    // RETURNING may be the name of a column, behind which IN or the like opens a list.
    const BEHIND_RETURNING: [&[u8]; 5] = [b"datetime", b"time", b"nchar", b"dec", b"real"];
    walk.is_type_next(1)
        || (walk.was(1, b"returning") && BEHIND_RETURNING.iter().any(|name| walk.was(0, name)))
}

/// `schema.f(`: a stored function on both servers, whatever its name.
fn qualified(walk: &mut Walk<'_>, name: Token) {
    let Some(schema) = walk.before[0].filter(|t| is_identifier(t.kind)) else {
        return walk.refuse(Uncacheable::Unknown);
    };
    let schema = walk.name_of(schema);
    unknown(walk, Some(schema), name);
}

/// `` `f`( ``: a built-in function that is no keyword, or a stored one.
fn quoted(walk: &mut Walk<'_>, name: Token) {
    unknown(walk, None, name);
}

fn word(walk: &mut Walk<'_>, name: Token, open: Token) {
    let text = walk.text(name);
    let folded = Folded::of(text);
    match folded.text() {
        // It calls a stored function where it is no table, if it is no keyword as in MySQL.
        b"json_table" => return call_unknown(walk, name),
        // Behind the path; elsewhere it is a function of this name.
        b"columns"
            if walk.opener() == Opener::JsonTable
                && walk.before[1].is_some_and(|t| t.kind == TokenKind::String) =>
        {
            return walk.open(State::Names, Opener::Columns);
        }
        // `MATCH (a) AGAINST (b)`, `a MEMBER OF (b)`.
        b"against" if walk.was(1, b")") => return walk.open(State::Start, Opener::Group),
        b"of" if walk.was(1, b"member") && !walk.is_mariadb() => {
            return walk.open(State::Start, Opener::Group);
        }
        b"sql_calc_found_rows" | b"high_priority" | b"sql_small_result" | b"sql_big_result" => {
            return walk.open(State::Start, Opener::Group);
        }
        _ if functions::stands_before_paren(name.word()) => return walk.open(State::Start, Opener::Group),
        _ => {}
    }
    let class = class(text);
    let has_blank = name.end != open.start;
    let is_built_in = functions::is_harmless(name.word(), walk.mode())
        && !(has_blank && functions::is_built_in_without_blank_only(name.word()));
    match class {
        Some(Class::Pure) if is_built_in => {}
        Some(Class::Pure) | None => return call_unknown(walk, name),
        Some(class) => walk.refuse_class(class),
    }
    let opener = match folded.text() {
        b"trim" | b"extract" | b"substring" | b"substr" | b"mid" => Opener::FromArgument,
        b"cast" | b"convert" => Opener::Type,
        b"column_create" | b"column_add" | b"column_get" => Opener::DynamicColumn,
        b"unix_timestamp" => {
            if walk.is_next(b")") {
                walk.refuse_class(Class::Varies);
            }
            Opener::Group
        }
        _ => Opener::Group,
    };
    walk.open(State::Start, opener);
}

fn call_unknown(walk: &mut Walk<'_>, name: Token) {
    unknown(walk, None, name);
    walk.open(State::Start, Opener::Group);
}

/// A function that the server has to be asked about, unless its name alone refuses.
fn unknown(walk: &mut Walk<'_>, schema: Option<Vec<u8>>, name: Token) {
    let name = walk.name_of(name);
    if let Some(class) = class(&name) {
        walk.refuse_class(class);
    }
    // The servers fold more than the letters of ASCII.
    if !name.is_ascii() {
        walk.refuse(Uncacheable::Unknown);
    }
    walk.add_function(FunctionName { schema, name });
}
