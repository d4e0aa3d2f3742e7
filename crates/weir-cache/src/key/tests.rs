use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

/// A key's parts, owned.
#[derive(Debug, Clone, PartialEq)]
struct Parts {
    sql: Vec<u8>,
    parameters: Vec<([u8; 2], Option<Vec<u8>>)>,
    schema: Option<Vec<u8>>,
    reader: Result<[Vec<u8>; 3], Vec<u8>>,
    session: Vec<u8>,
    binary: bool,
    dialect: u64,
}

impl Parts {
    fn key(&self) -> Vec<u8> {
        let mut out = b"left over".to_vec();
        let mut key = KeyBuilder::new(&mut out);
        key.statement(&self.sql);
        for (kind, value) in &self.parameters {
            key.parameter(Parameter { kind: *kind, value: value.as_deref() });
        }
        let reader = match &self.reader {
            Ok([user, host, roles]) => Reader::Account { user, host, roles },
            Err(group) => Reader::Group(group),
        };
        let protocol = if self.binary { Protocol::Binary } else { Protocol::Text };
        key.schema(self.schema.as_deref()).reader(reader).session(&self.session);
        key.protocol(protocol).dialect(self.dialect);
        out
    }
}

/// Few different bytes, those of the heads among them, so that parts can be mistaken for each other.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(0u8..14, 0..4)
}

fn parts() -> impl Strategy<Value = Parts> {
    let parameters = vec((prop::array::uniform2(0u8..3), option::of(bytes())), 0..3);
    let reader = prop_oneof![
        prop::array::uniform3(bytes()).prop_map(Ok),
        bytes().prop_map(Err::<[Vec<u8>; 3], Vec<u8>>),
    ];
    (bytes(), parameters, option::of(bytes()), reader, bytes(), any::<bool>(), 0u64..3).prop_map(
        |(sql, parameters, schema, reader, session, binary, dialect)| Parts {
            sql,
            parameters,
            schema,
            reader,
            session,
            binary,
            dialect,
        },
    )
}

/// Reads the parts back from the bytes: what can be read back in one way only cannot be made in two.
fn read(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut parts = Vec::new();
    while let [kind, rest @ ..] = bytes {
        let (mut length, mut at) = (0, 0);
        loop {
            length |= usize::from(rest[at] & 0x7F) << (7 * at);
            at += 1;
            if rest[at - 1] < 0x80 {
                break;
            }
        }
        parts.push((*kind, rest[at..at + length].to_vec()));
        bytes = &rest[at + length..];
    }
    parts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn different_parts_make_different_keys(a in parts(), b in parts()) {
        prop_assert_eq!(a == b, a.key() == b.key());
    }

    #[test]
    fn one_difference_is_enough(a in parts(), at in 0usize..7, b in parts()) {
        let mut c = a.clone();
        match at {
            0 => c.sql = b.sql,
            1 => c.parameters = b.parameters,
            2 => c.schema = b.schema,
            3 => c.reader = b.reader,
            4 => c.session = b.session,
            5 => c.binary = b.binary,
            _ => c.dialect = b.dialect,
        }
        prop_assert_eq!(a == c, a.key() == c.key());
    }

    #[test]
    fn parts_can_be_read_back(a in vec(any::<u8>(), 0..300), b in vec(any::<u8>(), 0..300)) {
        let mut out = Vec::new();
        KeyBuilder::new(&mut out).statement(&a).server(&b);
        prop_assert_eq!(read(&out), vec![(Part::Statement as u8, a), (Part::Server as u8, b)]);
    }
}

#[test]
fn no_schema_is_not_an_empty_one_and_null_not_an_empty_value() {
    let key = |make: fn(&mut KeyBuilder<'_>)| {
        let mut out = Vec::new();
        make(&mut KeyBuilder::new(&mut out));
        out
    };
    assert_ne!(key(|k| _ = k.schema(None)), key(|k| _ = k.schema(Some(b""))));
    let null = |k: &mut KeyBuilder<'_>| _ = k.parameter(Parameter { kind: [8, 0], value: None });
    let empty = |k: &mut KeyBuilder<'_>| _ = k.parameter(Parameter { kind: [8, 0], value: Some(b"") });
    assert_ne!(key(null), key(empty));
}
