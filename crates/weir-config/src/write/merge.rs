//! A rule that has changed, put into the table in which it stands.

use super::places::{prefix, split, without_blank_lines};
use toml_edit::{Decor, InlineTable, Item, Key, RawString, Table, TableLike, Value};

/// Says in `table`, which means `was`, what `will` says otherwise. What is the same in both keeps its layout, and every key that
/// stays keeps its comments. Returns whether keys have come or gone.
pub(super) fn merge(table: &mut dyn TableLike, was: &dyn TableLike, will: &dyn TableLike) -> bool {
    let mut others = false;
    for (key, _) in was.iter().filter(|(key, _)| !will.contains_key(key)) {
        others |= table.remove(key).is_some();
    }
    for (key, new) in will.iter() {
        let old = was.get(key);
        if old.is_some_and(|old| old.to_string() == new.to_string()) {
            continue;
        }
        match table.get_mut(key) {
            Some(there) => put(there, old, new),
            None => {
                table.insert(key, new.clone());
                others = true;
            }
        }
    }
    others
}

fn put(there: &mut Item, was: Option<&Item>, new: &Item) {
    if let (true, Some(will)) = (there.is_table_like(), new.as_table_like()) {
        let nothing = InlineTable::new();
        let was = was.and_then(Item::as_table_like).unwrap_or(&nothing);
        let goes = |key: &str| was.contains_key(key) && !will.contains_key(key);
        if let Some(table) = there.as_inline_table_mut() {
            hand_on(table, &goes);
        }
        let Some(table) = there.as_table_like_mut() else { return };
        let others = merge(table, was, will);
        let is_gone = table.is_empty() && table.is_dotted();
        if !is_gone {
            return if others {
                in_line(there)
            };
        }
    }
    let mut value = new.clone();
    if let (Some(old), Some(new)) = (there.as_value(), value.as_value_mut()) {
        *new.decor_mut() = old.decor().clone();
    }
    *there = value;
}

/// In `{ ... }` over several lines the comment beside a key stands behind its comma, in what comes before the next key. Where that one
/// goes, the comment goes to what follows.
fn hand_on(table: &mut InlineTable, goes: &dyn Fn(&str) -> bool) {
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    let last_goes = keys.last().is_some_and(|key| goes(key));
    let (mut kept, mut before_gone) = (String::new(), false);
    for name in keys {
        let Some(mut key) = table.key_mut(&name) else { continue };
        let above = key.leaf_decor().prefix().and_then(RawString::as_str).unwrap_or_default();
        let (beside, own) = above.split_at(above.find('\n').unwrap_or(0));
        // That of a key that goes goes with it.
        let beside = if before_gone { "" } else { beside };
        before_gone = goes(&name);
        if before_gone {
            kept.push_str(beside);
        } else {
            // A comment ends with its line, though what came behind it stood on the line of what has gone.
            let ends = if kept.is_empty() || own.starts_with('\n') { "" } else { "\n" };
            let above = format!("{}{beside}{ends}{own}", std::mem::take(&mut kept));
            key.leaf_decor_mut().set_prefix(above);
        }
    }
    if last_goes && table.to_string().contains('\n') {
        let trailing = table.trailing().as_str().unwrap_or_default();
        let own = trailing.split_at(trailing.find('\n').unwrap_or(trailing.len())).1;
        let own = if own.is_empty() { "\n" } else { own };
        let trailing = format!("{kept}{own}");
        table.set_trailing(trailing);
    }
}

/// The blanks between what is left of `{ ... }` and what has come to it. Of more lines than one there may be comments in it.
fn in_line(item: &mut Item) {
    if let Some(table) = item.as_inline_table_mut()
        && !table.to_string().contains('\n')
    {
        table.fmt();
    }
}

/// Puts the comments of `from` to the same keys of `to`; where it has none, those that are there stay.
pub(super) fn comment(to: &mut dyn TableLike, from: &dyn TableLike) {
    for (name, item) in from.iter() {
        let Some((mut key, there)) = to.get_key_value_mut(name) else { continue };
        let above = from.key(name).map(Key::leaf_decor).and_then(Decor::prefix);
        if let Some(above) = above.filter(|it| is_comment(it)) {
            key.leaf_decor_mut().set_prefix(above.clone());
        }
        match (&mut *there, item) {
            (Item::Table(to), Item::Table(from)) if to.is_dotted() == from.is_dotted() => {
                if !from.is_dotted() {
                    comment_header(to, from);
                }
                comment(to, from);
            }
            // In the other form there may be no place for them.
            (there, Item::Table(from)) if has_comments(from) => take_form(there, item),
            (there, Item::Value(Value::InlineTable(from)))
                if is_comment(from.trailing()) || is_commented(from) =>
            {
                take_form(there, item)
            }
            (Item::Value(there), Item::Value(value)) => {
                if let Some(beside) = value.decor().suffix().filter(|it| is_comment(it)) {
                    there.decor_mut().set_suffix(beside.clone());
                }
            }
            (Item::Table(there), Item::Value(value)) if !there.is_dotted() => {
                if let Some(beside) = value.decor().suffix().filter(|it| is_comment(it)) {
                    there.decor_mut().set_suffix(beside.clone());
                }
            }
            _ => {}
        }
    }
}

/// The same in the form in which it was sent. What stood beside it stays, where nothing else does.
fn take_form(there: &mut Item, sent: &Item) {
    let beside = match there {
        Item::Value(value) => value.decor().suffix().cloned(),
        Item::Table(table) => table.decor().suffix().cloned(),
        _ => None,
    };
    *there = sent.clone();
    let Some(beside) = beside.filter(is_comment) else { return };
    let decor = match there {
        Item::Value(value) => value.decor_mut(),
        Item::Table(table) if !table.is_dotted() => table.decor_mut(),
        _ => return,
    };
    if !decor.suffix().is_some_and(is_comment) {
        decor.set_suffix(beside);
    }
}

/// Whether there are comments in it, or, if it is `[...]`, above or beside that.
fn has_comments(table: &Table) -> bool {
    let decor = table.decor();
    let about = [decor.prefix(), decor.suffix()].into_iter().flatten().any(is_comment);
    (about && !table.is_dotted()) || is_commented(table)
}

/// Whether there are comments in it.
fn is_commented(table: &dyn TableLike) -> bool {
    let decorated =
        |decor: &Decor| decor.prefix().is_some_and(is_comment) || decor.suffix().is_some_and(is_comment);
    table.iter().any(|(name, item)| {
        let in_value = match item {
            Item::Value(Value::InlineTable(inner)) => {
                decorated(inner.decor()) || is_comment(inner.trailing()) || is_commented(inner)
            }
            Item::Value(value) => decorated(value.decor()),
            Item::Table(inner) => decorated(inner.decor()) || is_commented(inner),
            _ => false,
        };
        in_value || table.key(name).is_some_and(|key| decorated(key.leaf_decor()))
    })
}

/// The same, of what stands above `[...]` and beside it; a heading above stays there.
pub(super) fn comment_header(to: &mut Table, from: &Table) {
    let decor = from.decor();
    let above = decor.prefix().filter(|it| is_comment(it)).and_then(RawString::as_str);
    if let Some(above) = above {
        let heading = split(prefix(to)).0;
        let above = format!("{heading}{}", without_blank_lines(above));
        to.decor_mut().set_prefix(above);
    }
    if let Some(beside) = decor.suffix().filter(|it| is_comment(it)) {
        to.decor_mut().set_suffix(beside.clone());
    }
}

fn is_comment(text: &RawString) -> bool {
    text.as_str().is_some_and(|text| text.contains('#'))
}
