//! What codes and topics have in common: a name as it is printed and typed, a title, and a page in each language.

/// Declares an enum of such things, each with its variant, name and title.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $of:ident { $($variant:ident $text:literal $title:literal;)* }) => {
        $(#[$meta])*
        pub enum $of {
            $(#[doc = $title] $variant,)*
        }

        impl $of {
            /// Every one.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the name, as printed and typed.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// Returns one line on what it is about.
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => $title,)*
                }
            }

            /// Returns its page.
            pub fn page(self, language: $crate::diag::Language) -> &'static str {
                match (self, language) {
                    $((Self::$variant, $crate::diag::Language::English) => {
                        include_str!(concat!("pages/en/", $text, ".md"))
                    }
                    (Self::$variant, $crate::diag::Language::Chinese) => {
                        include_str!(concat!("pages/zh/", $text, ".md"))
                    })*
                }
            }
        }
    };
}

pub(super) use named;
