//! Which crate a symbol comes from.

/// Returns the crate that a demangled name counts for: that of the type which a trait is implemented for, of what is dropped, and
/// else the first of the path.
pub(crate) fn owner(name: &str) -> String {
    let mut rest = name;
    loop {
        let before = rest;
        for prefix in PREFIXES {
            rest = rest.strip_prefix(prefix).unwrap_or(rest);
        }
        if rest == before {
            break;
        }
    }
    let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(rest.len());
    let (first, after) = rest.split_at(end);
    match after.starts_with("::") {
        true => first.to_owned(),
        // Functions of C and of the compiler, and implementations for the language's own types.
        false => ["core", "compiler_builtins"][usize::from(!name.starts_with('<'))].to_owned(),
    }
}

/// What may stand before the path that counts.
const PREFIXES: [&str; 11] = [
    "<",
    "&",
    "*const ",
    "*mut ",
    "mut ",
    "[",
    "(",
    "dyn ",
    "core::ptr::drop_glue::",
    "core::ptr::drop_in_place::",
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
            ("<[core::mem::MaybeUninit<T>]>::fill", "core"),
            ("<alloc::vec::Vec<der::Tag>>::push", "alloc"),
            ("<u8 as core::fmt::Debug>::fmt", "core"),
            ("memcpy", "compiler_builtins"),
        ] {
            assert_eq!(owner(name), expected, "{name}");
        }
    }
}
