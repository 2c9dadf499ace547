//! The two macros that declare keys.

/// Declares a struct of keys with defaults, as
///
/// ```
/// use keys::{key, settings};
///
/// settings! {
///     /// `disk.*`: disks of guests.
///     #[derive(Copy)]
///     pub struct DiskKeys {
///         pub latency_us: u64 = 0 => key("microseconds from a request to its interrupt").number(0, 1_000_000),
///     }
/// }
/// ```
///
/// The text documents the field as well. It is in a call of [`key`](crate::key), or of a constant function that calls it.
/// A field without a default is a group: a struct that is declared in the same way. Behind `beside` stand fields that are no keys.
/// A key that may be absent is an `Option` with `#[serde(skip_serializing_if = "Option::is_none")]`.
#[macro_export]
macro_rules! settings {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[$attribute:meta])*
                pub $field:ident: $type:ty $(= $default:expr => $key:ident($about:literal) $(. $fact:ident($($value:expr),*))*)?
            ),* $(,)?
        }
        $(beside { $($(#[$other_attribute:meta])* pub $other:ident: $other_type:ty),* $(,)? })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug, $crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(default, crate = "keys::serde")]
        $visibility struct $name {
            $($(#[doc = $about])? $(#[$attribute])* pub $field: $type,)*
            $($($(#[$other_attribute])* pub $other: $other_type,)*)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $crate::default_of!($type $(, $default)?),)*
                    $($($other: <$other_type>::default(),)*)?
                }
            }
        }

        impl $crate::Declared for $name {
            const KEYS: &'static [$crate::Entry] = &[$($crate::entry_of!($field, $type $(, $key($about)$(.$fact($($value),*))*)?)),*];
        }

        impl $crate::Keys for $name {
            fn for_native(&self) -> Self {
                Self {
                    $($field: $crate::native_of!(self.$field, $type $(, $default, $key($about)$(.$fact($($value),*))*)?),)*
                    $($($other: self.$other.clone(),)*)?
                }
            }
        }
    };
}

/// Declares a struct of a host model, as [`settings!`] but without defaults: each key is required, and a field without a text is a group.
#[macro_export]
macro_rules! model {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $(
                $(#[$attribute:meta])*
                pub $field:ident: $type:ty $(=> $key:ident($about:literal) $(. $fact:ident($($value:expr),*))*)?
            ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug, $crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(deny_unknown_fields, crate = "keys::serde")]
        $visibility struct $name {
            $($(#[doc = $about])? $(#[$attribute])* pub $field: $type,)*
        }

        impl $crate::Declared for $name {
            const KEYS: &'static [$crate::Entry] = &[$($crate::entry_of!($field, $type $(, $key($about)$(.$fact($($value),*))*)?)),*];
        }
    };
}

/// The entry of a field.
#[doc(hidden)]
#[macro_export]
macro_rules! entry_of {
    ($field:ident, $type:ty) => {
        $crate::Entry::Group(stringify!($field), <$type as $crate::Declared>::KEYS)
    };
    ($field:ident, $type:ty, $facts:expr) => {
        $crate::Entry::Key(stringify!($field), $facts)
    };
}

/// The default of a field.
#[doc(hidden)]
#[macro_export]
macro_rules! default_of {
    ($type:ty) => {
        <$type>::default()
    };
    ($type:ty, $default:expr) => {
        $default
    };
}

/// A field for a native machine.
#[doc(hidden)]
#[macro_export]
macro_rules! native_of {
    ($value:expr, $type:ty) => {
        <$type as $crate::Keys>::for_native(&$value)
    };
    ($value:expr, $type:ty, $default:expr, $facts:expr) => {
        if const { $facts.affects_native() } { $value.clone() } else { $default }
    };
}
