use std::vec::Vec;

use super::*;

fn path(resource: Resource, form: PathForm) -> Vec<&'static str> {
    resource.path(form).collect()
}

#[test]
fn paths_are_those_of_the_drafts() {
    assert_eq!(path(Resource::RequestVoucher, PathForm::WellKnown), [".well-known", "brski", "rv"]);
    assert_eq!(path(Resource::RequestVoucher, PathForm::Short), ["b", "rv"]);
    assert_eq!(path(Resource::CaCerts, PathForm::Abbreviated), [".well-known", "est", "crts"]);
    assert_eq!(path(Resource::CaCerts, PathForm::Short), ["e", "crts"]);
    for form in [PathForm::Abbreviated, PathForm::WellKnown, PathForm::Short] {
        assert_eq!(path(Resource::Core, form), [".well-known", "core"]);
        assert_eq!(path(Resource::IdentityKey, form), ["t", "idk"]);
    }
}

#[test]
fn paths_and_abbreviations_name_one_resource_each() {
    for resource in Resource::ALL {
        for form in [PathForm::Abbreviated, PathForm::WellKnown, PathForm::Short] {
            assert_eq!(Resource::from_path(resource.path(form).map(str::as_bytes)), Some(resource));
        }
    }
    for (value, resource) in [
        (0, Resource::Core),
        (301, Resource::CaCerts),
        (302, Resource::SimpleEnroll),
        (303, Resource::SimpleReenroll),
        (304, Resource::ServerKeyGen),
        (305, Resource::ServerKeyGenCert),
        (306, Resource::CsrAttributes),
        (401, Resource::EnrollStatus),
        (402, Resource::RequestVoucher),
        (403, Resource::VoucherStatus),
    ] {
        assert_eq!(Resource::from_abbreviation(value), Some(resource));
        assert_eq!(u32::from(resource.abbreviation().unwrap()), value);
    }
    for unknown in [1, 2, 300, 307, 400, 404, 301 + (1 << 16), u32::MAX] {
        assert_eq!(Resource::from_abbreviation(unknown), None);
    }
}

#[test]
fn other_paths_name_nothing() {
    let others: [&[&str]; 9] = [
        &[],
        &[""],
        &["rv"],
        &["b"],
        &["b", "crts"],
        &["e", "rv"],
        &["b", "rv", ""],
        &[".well-known", "brski"],
        &["b", "RV"],
    ];
    for other in others {
        assert_eq!(Resource::from_path(other.iter().map(|segment| segment.as_bytes())), None, "{other:?}");
    }
}
