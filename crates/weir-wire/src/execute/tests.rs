use super::*;
use proptest::prelude::*;

/// An execution of statement 7 with two parameters: a bitmap, the flag, types if given, and values.
fn execute(types: Option<&[u8]>) -> Vec<u8> {
    let mut payload = vec![command::STMT_EXECUTE, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    payload.push(u8::from(types.is_some()));
    payload.extend_from_slice(types.unwrap_or_default());
    payload.extend_from_slice(&[1, 0, 0, 0, 2, b'a', b'b']);
    payload
}

#[test]
fn types_are_found_and_put_in() {
    let types = [3, 0, 0xFD, 0];
    let bound = execute(Some(&types));
    let found = Execute::parse(&bound, 2, 0).unwrap();
    assert_eq!((found.id, found.types), (7, Some(&types[..])));
    let bare = execute(None);
    let found = Execute::parse(&bare, 2, 0).unwrap();
    assert_eq!((found.id, found.types), (7, None));
    let mut wanted = bound.clone();
    wanted[1] = 9;
    assert_eq!(found.rewritten(&bare, 9, Some(&types)), wanted);
    // The beginning of a long one is enough.
    assert_eq!(Execute::parse(&bound[..16], 2, 0).unwrap().types, Some(&types[..]));
    assert!(Execute::parse(&bound[..15], 2, 0).is_err());
    // Without parameters nothing is put in.
    let none = &execute(None)[..10];
    assert_eq!(Execute::parse(none, 0, 0).unwrap().rewritten(none, 9, Some(&[])).len(), 10);
}

#[test]
fn names_and_counts_of_query_attributes_are_passed_over() {
    let types = [3, 0, 0, 8, 0, 1, b'n'];
    let mut payload = vec![command::STMT_EXECUTE, 7, 0, 0, 0, 8, 1, 0, 0, 0, 2, 0, 1];
    payload.extend_from_slice(&types);
    payload.push(b'v');
    let found = Execute::parse(&payload, 1, caps::QUERY_ATTRIBUTES).unwrap();
    assert_eq!(found.types, Some(&types[..]));
}

#[test]
fn bulk_executions_say_by_a_flag_whether_types_follow() {
    let with = [command::STMT_BULK_EXECUTE, 7, 0, 0, 0, 128, 0, 3, 0, 9];
    let without = [command::STMT_BULK_EXECUTE, 7, 0, 0, 0, 0, 0, 9];
    assert_eq!(Execute::parse(&with, 1, 0).unwrap().types, Some(&[3, 0][..]));
    let found = Execute::parse(&without, 1, 0).unwrap();
    assert_eq!((found.types, found.rewritten(&without, 7, Some(&[3, 0]))), (None, with.to_vec()));
}

proptest! {
    #[test]
    fn arbitrary_packets_never_panic(bytes: Vec<u8>, params: u16, flags: u64, id: u32, types: Option<Vec<u8>>) {
        if let Ok(found) = Execute::parse(&bytes, params, flags) {
            let out = found.rewritten(&bytes, id, types.as_deref());
            prop_assert!(out.len() >= bytes.len());
        }
    }

    /// The short way without query attributes finds what the long one does.
    #[test]
    fn both_ways_agree(rest in prop::collection::vec(prop_oneof![Just(0u8), Just(1), any::<u8>()], 0..40), params in 0u16..20) {
        let mut bytes = vec![command::STMT_EXECUTE];
        bytes.extend(rest);
        let found = Execute::parse(&bytes, params, 0);
        prop_assert_eq!(found.is_ok(), Execute::read(&bytes, params, 0).is_ok());
        if let (Ok(found), Ok(read)) = (found, Execute::read(&bytes, params, 0)) {
            prop_assert_eq!(found, read);
            prop_assert_eq!(found.values(&bytes), read.values(&bytes));
        }
        let binds = Execute::binds(&bytes, usize::from(params));
        prop_assert_eq!(binds.is_some(), found.is_ok());
        if let (Some(binds), Ok(found)) = (binds, found) {
            prop_assert_eq!((binds.nulls, binds.values), found.values(&bytes));
            prop_assert_eq!(binds.types, found.types.unwrap_or_default());
        }
    }
}
