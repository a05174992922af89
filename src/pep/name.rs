//! Package and extra names, normalized when they are made (PEP 503, PEP 685).

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A package name in normalized form: lowercase, runs of `-`, `_` and `.` become one `-`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageName(Arc<str>);

/// An extra's name in normalized form, by the rule of package names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtraName(Arc<str>);

/// Why a text is no package or extra name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid name: letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit")]
pub struct NameError(String);

fn normalize(text: &str) -> Result<Arc<str>, NameError> {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let bytes = text.as_bytes();
    if !edge(bytes.first()) || !edge(bytes.last()) || !bytes.iter().all(inner) {
        return Err(NameError(text.to_owned()));
    }
    let mut normal = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            _ => normal.push(char.to_ascii_lowercase()),
        }
    }
    Ok(normal.into())
}

macro_rules! name {
    ($type:ident) => {
        impl $type {
            /// Returns the normalized text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                normalize(text).map(Self)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

name!(PackageName);
name!(ExtraName);
