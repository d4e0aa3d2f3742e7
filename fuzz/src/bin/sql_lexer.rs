//! Any text in any mode: the tokens cover it without gap or overlap, and the lexer ends.
//! Input: mode (2 bytes), then the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::{Input, lex_mode};
use weir_sql::{Lexer, TokenKind};

fuzz_target!(|data: &[u8]| {
    let mut input = Input::new(data);
    let mode = lex_mode(&mut input);
    let sql = input.rest();
    let mut lexer = Lexer::new(sql, mode);
    let mut at = 0;
    while let Some(token) = lexer.next() {
        let span = token.span();
        assert_eq!(span.start, at, "a gap or an overlap before {token:?}");
        assert!(span.end > span.start && span.end <= sql.len(), "{token:?}");
        assert_eq!(lexer.position(), span.end);
        assert_eq!(token.text(sql).len(), span.len());
        if token.kind == TokenKind::Unterminated {
            assert_eq!(span.end, sql.len(), "something follows the end");
        }
        if token.kind == TokenKind::Semicolon {
            lexer.begin_statement();
        }
        at = span.end;
    }
    assert_eq!(at, sql.len(), "not all of the text was read");
});
