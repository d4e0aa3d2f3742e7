use weir_model::ServerFamily;

use super::*;

const SERVER: Server = Server { family: ServerFamily::MySql, version: 90_704 };

#[test]
fn a_row_is_taken_in_the_order_of_the_text() {
    let text = Base::read_text(SERVER);
    let names: Vec<_> = text.split(",@@SESSION.").skip(1).collect();
    let row: Vec<Option<&[u8]>> =
        std::iter::once(Some(&b"74C3A9"[..])).chain(names.iter().map(|n| Some(n.as_bytes()))).collect();
    let (base, schema) = Base::from_row(SERVER, &row).unwrap();
    assert_eq!(schema, Schema::Known("té".as_bytes().into()));
    assert_eq!(base.get(Variable::SQL_MODE), Some(&b"sql_mode"[..]));
    assert_eq!(base.present(), VarSet::on(SERVER));
    assert!(Base::from_row(SERVER, &row[1..]).is_err());
    assert!(Base::from_row(SERVER, &[]).is_err());
}

#[test]
fn equal_bases_are_one() {
    let base = |mode: &[u8]| Base::new(SERVER, [(Variable::SQL_MODE, Some(mode.into()))]);
    let mut bases = Bases::default();
    let first = bases.share(base(b"ANSI"));
    assert!(Arc::ptr_eq(&first, &bases.share(base(b"ANSI"))));
    assert!(!Arc::ptr_eq(&first, &bases.share(base(b""))));
    drop(first);
    assert_eq!(bases.share(base(b"ANSI")).get(Variable::SQL_MODE), Some(&b"ANSI"[..]));
}
