//! A rule that has changed, put into the table in which it stands.

use super::places::{prefix, split, without_blank_lines};
use toml_edit::{Decor, InlineTable, Item, Key, RawString, Table, TableLike};

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
    if let (Some(table), Some(will)) = (there.as_table_like_mut(), new.as_table_like()) {
        let nothing = InlineTable::new();
        let was = was.and_then(Item::as_table_like).unwrap_or(&nothing);
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
        match (there, item) {
            (Item::Table(to), Item::Table(from)) if !from.is_dotted() => {
                comment_header(to, from);
                comment(to, from);
            }
            (there, item) => {
                let beside = item.as_value().and_then(|value| value.decor().suffix());
                if let (Some(there), Some(beside)) =
                    (there.as_value_mut(), beside.filter(|it| is_comment(it)))
                {
                    there.decor_mut().set_suffix(beside.clone());
                }
            }
        }
    }
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
