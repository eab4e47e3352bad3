use alloc::collections::BTreeSet;

use crate::{masa, registrar};

#[test]
fn each_reason_has_one_name_in_kebab_case() {
    for names in [registrar::Refusal::NAMES, masa::Refusal::NAMES] {
        let different: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(different.len(), names.len(), "two reasons have one name");
        for name in names {
            let is_kebab =
                name.split('-').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()));
            assert!(is_kebab, "{name}");
        }
    }
}

#[test]
fn the_name_is_that_of_the_reason_and_not_of_what_it_is_about() {
    assert_eq!(registrar::Refusal::Masa(404).name(), registrar::Refusal::Masa(500).name());
    assert_eq!(registrar::Refusal::OtherRegistrar.name(), "other-registrar");
    assert_eq!(masa::Refusal::OtherRegistrar.name(), "other-registrar");
}
