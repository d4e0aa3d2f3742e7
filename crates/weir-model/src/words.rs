/// Declares a closed list of words as they stand in `weir.toml`: an enum with `WORDS`, `as_str` and `from_word`.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub enum $name { $($(#[$of])* $variant),+ }

        impl $name {
            /// Every value, in the order of [`WORDS`](Self::WORDS).
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The words of `weir.toml`, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for this value in `weir.toml`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of a word of `weir.toml`.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}
