use serde_json::{Map, Value, json};

use crate::keys::{Default, Key, Kind, ROOT, Section};

/// The JSON schema (draft 2020-12) of `weir.toml`, for editors. It knows names, types, words and the ranges of
/// numbers; what only Weir can tell (ranges of durations, files, duplicates) is left to `weir check`.
pub fn schema() -> Value {
    let mut schema = section(&ROOT);
    if let Value::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("title".to_owned(), json!("weir.toml"));
    }
    schema
}

fn section(of: &Section) -> Value {
    let properties: Map<String, Value> =
        of.keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> =
        of.keys.iter().filter(|key| matches!(key.default, Default::Required)).map(|key| key.name).collect();
    json!({
        "type": "object",
        "description": of.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn property(key: &Key) -> Value {
    let mut property = of_kind(&key.kind);
    if let Value::Object(property) = &mut property {
        let description = match key.default {
            Default::Unset(without) => format!("{} Without it: {without}.", key.doc),
            _ => key.doc.to_owned(),
        };
        property.insert("description".to_owned(), json!(description));
        // The defaults are written in the part of TOML that is JSON.
        if let Default::Is(default) = key.default
            && let Ok(default) = serde_json::from_str::<Value>(default)
        {
            property.insert("default".to_owned(), default);
        }
    }
    property
}

fn of_kind(kind: &Kind) -> Value {
    match kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Duration { .. } => {
            json!({ "type": "string", "pattern": "^(0|(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?)$" })
        }
        Kind::Size { min, max } => json!({ "oneOf": [
            { "type": "integer", "minimum": min, "maximum": max },
            { "type": "string", "pattern": "^[0-9]+(B|KiB|MiB|GiB)$" },
        ] }),
        Kind::Name { max } => json!({ "type": "string", "minLength": 1, "maxLength": max }),
        Kind::Names { max } => {
            json!({ "type": "array", "items": { "type": "string", "minLength": 1, "maxLength": max } })
        }
        Kind::Text { .. } | Kind::Pattern | Kind::TableName | Kind::Network => {
            json!({ "type": "string", "minLength": 1 })
        }
        Kind::Ratio => json!({ "type": "string", "pattern": "^[0-9]{1,3}(\\.[0-9]{1,4})?%$" }),
        Kind::Rate => json!({ "type": "string", "pattern": "^[0-9]+/(s|m|h)$" }),
        Kind::Pem(_) | Kind::File | Kind::Address => json!({ "type": "string", "minLength": 1 }),
        Kind::Addresses | Kind::Networks => {
            json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
        }
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Secret => json!({ "oneOf": [
            { "type": "string" },
            { "type": "object", "properties": { "env": { "type": "string" } }, "required": ["env"],
              "additionalProperties": false },
            { "type": "object", "properties": { "file": { "type": "string" } }, "required": ["file"],
              "additionalProperties": false },
        ] }),
        Kind::Table(inner) | Kind::Optional(inner) => section(inner),
        // More than one server is refused by this version, but that is a sentence for `weir check`, not for a schema.
        Kind::Tables(inner) => json!({ "type": "array", "items": section(inner) }),
    }
}
