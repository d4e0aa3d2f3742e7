//! Any text in any mode: a digest, within its limit; what is trimmed changes nothing. Input: mode (2 bytes), then the
//! text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Input, lex_mode};
use weir_sql::{Digest, MAX_DIGEST_LENGTH, Tokens, digest, digest_within, strip_comments, trimmed_span};

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let mode = lex_mode(&mut input);
    let sql = input.rest();
    let mut out = Vec::new();
    let id = digest(sql, mode, &mut out);
    assert!(out.len() <= 20 * MAX_DIGEST_LENGTH, "longer than its limit");
    let kept = Tokens::default().read(sql, mode).digest(&mut Vec::new());
    assert_eq!(kept, id, "tokens that are kept made another digest");
    let span = trimmed_span(sql, mode);
    assert!(span.start <= span.end && span.end <= sql.len(), "{span:?}");
    let trimmed = Digest::of(&sql[span], mode);
    assert_eq!(trimmed.text, out, "blanks and comments around it made another digest");
    assert_eq!(trimmed.id, id);
    let _ = Digest::meant(&out, mode);
    digest_within(sql, mode, 64, &mut out);
    assert!(out.len() <= 20 * 64, "longer than its limit");
    strip_comments(sql, mode, &mut out);
});
