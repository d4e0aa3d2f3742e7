//! Rules as JSON, for the API: the same keys and values as in `weir.toml`.

use serde_json::{Map, Value};
use toml_edit::{Array, InlineTable, Item, Table};
use weir_model::Rule;

use crate::parse::parse_rule;
use crate::report::Report;
use crate::write;

/// A rule with the keys of `[[rule]]`, without those that have their default.
pub fn rule_json(rule: &Rule) -> Value {
    let pairs = write::table(rule).into_iter().filter_map(|(key, item)| {
        let value = item.into_value().ok()?;
        Some((key.to_string(), json(value)))
    });
    Value::Object(pairs.collect())
}

/// Reads and checks one rule, as [`parse_rule`] does. A key that is `null` counts as absent. Places in the report are
/// those of the rule written as TOML.
///
/// # Errors
/// All that is wrong with it.
pub fn rule_from_json(name: &str, value: &Value) -> Result<Rule, Report> {
    let Value::Object(object) = value else {
        let hint = "send {\"name\": ..., \"match\": {...}, ...}";
        return Err(Report::about(name, "a rule is an object", hint));
    };
    let mut table = Table::new();
    for (key, value) in present(object) {
        table.insert(key, Item::Value(toml(value)));
    }
    parse_rule(name, &table.to_string())
}

fn present(object: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    object.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.as_str(), value))
}

fn json(value: toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.into_value()),
        toml_edit::Value::Integer(number) => Value::from(number.into_value()),
        toml_edit::Value::Float(number) => Value::from(number.into_value()),
        toml_edit::Value::Boolean(flag) => Value::from(flag.into_value()),
        toml_edit::Value::Datetime(time) => Value::from(time.into_value().to_string()),
        toml_edit::Value::Array(items) => items.into_iter().map(json).collect(),
        toml_edit::Value::InlineTable(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key.to_string(), json(value))).collect())
        }
    }
}

fn toml(value: &Value) -> toml_edit::Value {
    match value {
        // Only inside a list, where the check refuses it.
        Value::Null => toml_edit::Value::from(""),
        Value::Bool(flag) => toml_edit::Value::from(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => toml_edit::Value::from(whole),
            (None, float) => toml_edit::Value::from(float.unwrap_or(f64::MAX)),
        },
        Value::String(text) => toml_edit::Value::from(text),
        Value::Array(items) => toml_edit::Value::Array(items.iter().map(toml).collect::<Array>()),
        Value::Object(object) => {
            let pairs = present(object).map(|(key, value)| (key, toml(value)));
            toml_edit::Value::InlineTable(pairs.collect::<InlineTable>())
        }
    }
}

#[cfg(test)]
mod tests;
