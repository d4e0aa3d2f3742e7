use crate::words::WordId;

/// Declares the enum and its spellings.
macro_rules! keywords {
    ($($variant:ident $text:literal)*) => {
        /// Keywords that say what a statement is, or what it leaves behind. Not all keywords of SQL.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Keyword {
            $($variant,)*
        }

        impl Keyword {
            /// Every keyword.
            pub const ALL: &'static [Keyword] = &[$(Keyword::$variant,)*];

            /// The spelling in small letters.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Keyword::$variant => $text,)*
                }
            }
        }
    };
}

keywords! {
    All "all" Alter "alter" Analyze "analyze" As "as" Backup "backup" Begin "begin" Binlog "binlog" By "by"
    Cache "cache" Call "call" Change "change" Check "check" Checksum "checksum" Clone "clone" Commit "commit"
    Concurrent "concurrent" Connection "connection" Create "create" Data "data" Deallocate "deallocate"
    Default "default" Delete "delete" Desc "desc" Describe "describe" Do "do" Drop "drop" Except "except"
    Execute "execute" Explain "explain" Fetch "fetch" Flush "flush" For "for" From "from" Grant "grant"
    Group "group" Hard "hard" Help "help" Immediate "immediate" Import "import" Insert "insert"
    Install "install" Intersect "intersect" Into "into" Kill "kill" Limit "limit" Load "load" Local "local"
    Lock "lock" LowPriority "low_priority" Minus "minus" Next "next" NoWriteToBinlog "no_write_to_binlog"
    Offset "offset" Optimize "optimize" Password "password" Prepare "prepare" Previous "previous"
    Procedure "procedure" Purge "purge" Query "query" Release "release" Rename "rename" Repair "repair"
    Replace "replace" Reset "reset" Restart "restart" Revoke "revoke" Rollback "rollback" Rollup "rollup"
    Rownum "rownum" Rows "rows" Savepoint "savepoint" Select "select" Session "session" Set "set" Share "share"
    Show "show" Shutdown "shutdown" Soft "soft" Start "start" Statement "statement" Stop "stop" Table "table"
    Transaction "transaction" Truncate "truncate" Uninstall "uninstall" Union "union" Unlock "unlock"
    Update "update" Use "use" Value "value" Values "values" Weir "weir" With "with" Work "work" Xa "xa"
    Xml "xml"
}

impl Keyword {
    /// The keyword that a word is, in any case.
    pub fn of(word: &[u8]) -> Option<Self> {
        WordId::of(word).keyword()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_case() {
        for &keyword in Keyword::ALL {
            let text = keyword.as_str();
            assert_eq!(Keyword::of(text.as_bytes()), Some(keyword), "{text}");
            assert_eq!(Keyword::of(text.to_uppercase().as_bytes()), Some(keyword), "{text}");
            assert_eq!(Keyword::of(format!("{text}x").as_bytes()), None, "{text}");
        }
        assert_eq!(Keyword::of(b""), None);
        assert_eq!(Keyword::of(b"sel\xc3\xa9ct"), None);
    }
}
