//! Which crate a symbol comes from.

/// Returns the crate that a demangled name counts for: the first of its [`path`].
pub(crate) fn owner(name: &str) -> String {
    let rest = path(name);
    let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(rest.len());
    let (first, after) = rest.split_at(end);
    match after.starts_with("::") {
        true => first.to_owned(),
        false if ASSEMBLY.iter().any(|prefix| name.starts_with(prefix)) => "P256-Cortex-M4".to_owned(),
        // Functions of C and of the compiler, and implementations for the language's own types.
        false => ["core", "compiler_builtins"][usize::from(!name.starts_with('<'))].to_owned(),
    }
}

/// Returns a demangled name from the path on that it counts for: that of the type which a trait is implemented for, of what is
/// dropped, and else its own. The drop glue of a `Box` counts for `alloc`.
pub(crate) fn path(name: &str) -> &str {
    let mut rest = name;
    loop {
        let before = rest;
        for prefix in PREFIXES {
            rest = rest.strip_prefix(prefix).unwrap_or(rest);
        }
        if rest == before {
            return rest;
        }
    }
}

/// How the names of the assembly of P-256 begin, but for a few helpers.
const ASSEMBLY: [&str; 4] = ["P256_", "p256_", "scalarmult_", "mul288x288"];

/// What may stand before the path that counts.
const PREFIXES: [&str; 12] = [
    "::",
    "<",
    "&",
    "*const ",
    "*mut ",
    "mut ",
    "[",
    "(",
    "dyn ",
    "core::ptr::drop_glue",
    "core::ptr::drop_in_place",
    "impl ",
];

#[cfg(test)]
mod tests {
    use super::owner;

    #[test]
    fn a_symbol_counts_for_the_crate_of_its_type() {
        for (name, expected) in [
            ("terse_tls::connection::Connection::client", "terse_tls"),
            ("<terse_tls::wire::Alert as core::fmt::Debug>::fmt", "terse_tls"),
            ("<&mut minicbor::Encoder<W> as core::fmt::Write>::write_str", "minicbor"),
            ("core::ptr::drop_in_place::<terse_brski::pledge::State<F>>", "terse_brski"),
            ("core::ptr::drop_in_place<terse_brski::pledge::State<F>>", "terse_brski"),
            ("core::ptr::drop_in_place<alloc::boxed::Box<terse_tls::cache::client::Learned>>", "alloc"),
            ("<[core::mem::MaybeUninit<T>]>::fill", "core"),
            ("<alloc::vec::Vec<der::Tag>>::push", "alloc"),
            ("<u8 as core::fmt::Debug>::fmt", "core"),
            ("memcpy", "compiler_builtins"),
            ("P256_mulmod", "P256-Cortex-M4"),
            ("p256::arithmetic::scalar::Scalar::multiply", "p256"),
        ] {
            assert_eq!(owner(name), expected, "{name}");
        }
    }
}
