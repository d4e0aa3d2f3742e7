use super::CharsetClass::{self, *};

#[test]
fn p31_collation_ids_name_their_class() {
    let cases: [(CharsetClass, &[u16]); 7] = [
        (Big5, &[1, 84, 1025, 1108]),
        (Sjis, &[13, 88, 95, 96, 1037, 1112, 1119, 1120]),
        (Gbk, &[28, 87, 1052, 1111]),
        (Gb18030, &[248, 249, 250]),
        (BlankFf, &[36, 37, 40, 68, 73, 81, 1060, 1061, 1064, 1092, 1097, 1105]),
        (BlankA0, &[2, 5, 8, 9, 15, 26, 31, 47, 48, 49, 69, 93, 94, 1032, 1071, 1033, 1101, 1117]),
        (
            AsciiSafe,
            &[
                0, 7, 11, 12, 18, 19, 24, 33, 45, 46, 51, 53, 63, 83, 97, 192, 224, 255, 309, 1069, 2048,
                65535,
            ],
        ),
    ];
    for (class, ids) in cases {
        for &id in ids {
            assert_eq!(CharsetClass::from_collation_id(id), class, "{id}");
        }
    }
}

#[test]
fn p31_names_and_collation_ids_agree() {
    for (name, id) in [
        ("big5", 1),
        ("SJIS", 13),
        ("cp932", 95),
        ("gbk", 28),
        ("gb18030", 248),
        ("cp852", 40),
        ("cp866", 36),
        ("keybcs2", 37),
        ("latin1", 8),
        ("latin2", 9),
        ("latin5", 30),
        ("latin7", 41),
        ("greek", 25),
        ("hebrew", 16),
        ("cp1250", 26),
        ("armscii8", 32),
        ("geostd8", 92),
        ("dec8", 3),
        ("utf8mb4", 45),
        ("ujis", 12),
        ("binary", 63),
    ] {
        assert_eq!(CharsetClass::from_name(name.as_bytes()), CharsetClass::from_collation_id(id), "{name}");
    }
}

#[test]
fn p31_lead_bytes_that_swallow_a_backslash_are_those_of_the_servers() {
    let cases: [(CharsetClass, &[std::ops::RangeInclusive<u8>]); 5] = [
        (AsciiSafe, &[]),
        (Big5, &[0xA1..=0xF9]),
        (Gbk, &[0x81..=0xFE]),
        (Gb18030, &[0x81..=0xFE]),
        (Sjis, &[0x81..=0x9F, 0xE0..=0xFC]),
    ];
    for (class, leads) in cases {
        for lead in 0..=255u8 {
            let expected = if leads.iter().any(|range| range.contains(&lead)) { 2 } else { 1 };
            assert_eq!(class.char_len(&[lead, 0x5C]), expected, "{class:?} {lead:02x} 5c");
            assert_eq!(class.char_len(&[lead, 0x60]), expected, "{class:?} {lead:02x} 60");
            assert_eq!(class.char_len(&[lead, 0x27]), 1, "{class:?} {lead:02x} 27");
            assert_eq!(class.char_len(&[lead]), 1, "{class:?} {lead:02x}");
        }
    }
}

#[test]
fn p31_gb18030_has_characters_of_four_bytes() {
    assert_eq!(Gb18030.char_len(b"\x81\x30\x81\x30\\"), 4);
    assert_eq!(Gb18030.char_len(b"\x81\x30\x81\\"), 1);
    assert_eq!(Gb18030.char_len(b"\x81\x30"), 1);
}
